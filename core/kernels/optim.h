// optim.h: kernels of optimizers' steps: one update of a parameter and its states, in place.
#pragma once
#include <span>

#include "core/kernels/kernel.h"
#include "core/kernels/optim_algorithm.h"

namespace undertow {

struct OptimKernels {
  // tensors: parameter, gradient, then the states in the algorithm's order, undefined where one is not in use. All are
  // float32 or all float64, of one shape, dense in memory and of one layout. constants: the step's numbers.
  Kernel<"optimizer step", void(const Tensor& parameter, OptimAlgorithm algorithm, std::span<const Tensor> tensors,
                                const double* constants)>
      step;
};

}  // namespace undertow
