// extremum_params.h: the parameters of row_extremum. Included by the host and by device code; the includer has defined
// int64_t.
#pragma once

namespace undertow {

inline constexpr int kExtremumThreads = 256;

// Dense rows of n elements, each in `parts` parts of `chunk` elements, fewer than 2^30.
struct ExtremumRows {
  int64_t rows, n, parts, chunk;
};

}  // namespace undertow
