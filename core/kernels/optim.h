// optim.h: kernels for optimizer steps: one in-place update of a parameter and its states.
#pragma once
#include <span>

#include "core/kernels/kernel.h"
#include "core/kernels/optim_algorithm.h"

namespace undertow::core {

struct OptimKernels {
  // tensors: parameter, gradient, then the states in the algorithm's order, undefined if not in use. All are float32 or
  // all float64, dense in memory, and of the same shape and layout. constants: the step's coefficients.
  Kernel<"optimizer step", void(const Tensor& parameter, OptimAlgorithm algorithm, std::span<const Tensor> tensors,
                                const double* constants)>
      step;
};

}  // namespace undertow::core
