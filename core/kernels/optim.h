// optim.h: kernels for optimizer steps: in-place updates of parameters and their states.
#pragma once
#include <span>

#include "core/kernels/kernel.h"
#include "core/kernels/optim_algorithm.h"

namespace undertow::core {

// tensors: parameter, gradient, then the states in the algorithm's order, undefined if not in use. All have one real
// floating dtype and are dense in memory, and of the same shape and layout. constants: the step's coefficients. If they
// depend on numbers that only the device knows, they are there: rows of kMaxOptimConstants, one behind the other.
struct OptimStep {
  std::span<const Tensor> tensors;
  const double* constants = nullptr;
  const double* constants_on_device = nullptr;
};

struct OptimKernels {
  // All steps, of parameters of one dtype on one device, of which `first` is the first.
  Kernel<"optimizer step", void(const Tensor& first, OptimAlgorithm algorithm, std::span<const OptimStep> steps)> steps;
  bool half_dtypes = false;  // besides float32 and float64
  bool constants_on_device = false;
};

}  // namespace undertow::core
