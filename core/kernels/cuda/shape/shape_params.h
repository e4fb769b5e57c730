// shape_params.h: the parameters of strided_sum. Included by the host and by device code; the includer has defined
// int64_t.
#pragma once

namespace undertow {

// The input's dimensions by descending stride in the output, in elements.
struct StridedSum {
  static constexpr int kMaxDims = 16;
  int ndim;
  int64_t offset;
  int64_t sizes[kMaxDims], to[kMaxDims], from[kMaxDims];
  int64_t reach[kMaxDims];  // the greatest offset that the dimensions after this one add
};

}  // namespace undertow
