// join_params.h: the parameters of the kernels of join.cuh. Included by the host and by device code; the includer has
// defined int64_t.
#pragma once

namespace undertow {

// Parts of a concatenated tensor, in units of the kernel's element: for every outer index, `units` of part k go to
// place `at` of the row.
struct CatParts {
  static constexpr int kMost = 64;
  const char* from[kMost];
  int64_t at[kMost], units[kMost];
  int64_t row, outer;
};

struct TriangleShape {
  int64_t rows, cols, diagonal;
  bool lower;
};

}  // namespace undertow
