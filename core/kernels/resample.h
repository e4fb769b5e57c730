// resample.h: kernels that interpolate images to other sizes.
#pragma once
#include <optional>

#include "core/kernels/kernel.h"

namespace undertow::core {

struct Resampling {
  enum Filter { Nearest, NearestExact, Linear, Cubic, Lanczos } filter;
  int64_t spatial;  // how many of the last dimensions are resampled, one to three
  bool antialias;
  bool align_corners;
  std::optional<double> scales[3];  // depth, height, width: if given, they determine the step between outputs
};

// All tensors are row-major; their sizes give the scale unless `scales` does.
struct ResampleKernels {
  Kernel<"interpolate", void(const Tensor& out, const Tensor& in, const Resampling& how)> resample;
  // The transpose of `resample`.
  Kernel<"interpolate", void(const Tensor& grad_input, const Tensor& grad_output, const Resampling& how)> backward;
};

}  // namespace undertow::core
