// taps.h: which input elements contribute to an output element along one axis, and with which weights.
// Knows sizes, scales and kinds of interpolation; accesses no tensor.
#pragma once
#include <vector>

#include "core/kernels/resample.h"

namespace undertow::core::cpu {

// Output j is the sum over k < taps of weight[k * out + j] times input index[k * out + j].
struct Taps {
  int64_t in = 1, out = 1, taps = 1;
  bool identity = true;  // an axis that is not resampled
  std::vector<int32_t> index{0};
  std::vector<double> weight{1.0};
};
Taps resample_taps(const Resampling& how, int64_t in, int64_t out, std::optional<double> scale);

}  // namespace undertow::core::cpu
