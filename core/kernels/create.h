// create.h: kernels that fill a new row-major vector with a sequence.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

struct CreateKernels {
  // out[i] = start + i * step.
  Kernel<"arange", void(const Tensor& out, const Scalar& start, const Scalar& step)> arange;
  // Evenly spaced from start to end, both included.
  Kernel<"linspace", void(const Tensor& out, const Scalar& start, const Scalar& end)> linspace;
  // base to the power of evenly spaced exponents.
  Kernel<"logspace", void(const Tensor& out, const Scalar& start, const Scalar& end, double base)> logspace;
};

}  // namespace undertow::core
