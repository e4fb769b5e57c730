// resample.h: kernels that interpolate images to other sizes.
#pragma once
#include <optional>

#include "core/kernels/kernel.h"

namespace undertow {

struct Resampling {
  enum Filter { Nearest, NearestExact, Linear, Cubic, Lanczos } filter;
  int64_t spatial;  // the last dimensions that are resampled, one to three
  bool antialias;
  bool align_corners;
  std::optional<double> scales[3];  // depth, height, width: where given, they decide the step between outputs
};

// Everything is row-major; sizes say how far an image grows or shrinks.
struct ResampleKernels {
  Kernel<"interpolate", void(const Tensor& out, const Tensor& in, const Resampling& how)> resample;
  // Its transpose.
  Kernel<"interpolate", void(const Tensor& grad_input, const Tensor& grad_output, const Resampling& how)> backward;
};

}  // namespace undertow
