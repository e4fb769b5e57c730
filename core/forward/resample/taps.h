// taps.h: which input elements an output element is made of, and by which weights, along one axis.
// Knows sizes, scales and kinds of interpolation; touches no tensor.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace undertow::fwd {

// "Bilinear2DAa" taken apart.
struct ResampleKind {
  enum Filter { Nearest, NearestExact, Linear, Cubic, Lanczos } filter;
  int64_t spatial;
  bool antialias;
};
ResampleKind resample_kind(std::string_view name);

// Output j is the sum over k < taps of weight[k * out + j] times input index[k * out + j].
struct Taps {
  int64_t in = 1, out = 1, taps = 1;
  bool identity = true;  // an axis that is not resampled
  std::vector<int32_t> index{0};
  std::vector<double> weight{1.0};
};
Taps resample_taps(const ResampleKind& kind, int64_t in, int64_t out, bool align_corners, std::optional<double> scale);

}  // namespace undertow::fwd
