// optim.cpp: the CPU's OptimKernels: a step over flat memory, divided among threads.
#include "core/kernels/optim.h"

#include "core/base/parallel.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/optim/optim_kernels.h"

namespace undertow::core::cpu {

namespace {

constexpr int64_t kGrain = 16 * 1024;  // elements

void run_step(OptimAlgorithm algorithm, std::span<const Tensor> tensors, const double* constants) {
  const Tensor& parameter = tensors[0];
  void* at[kMaxOptimTensors] = {};
  for (size_t k = 0; k < tensors.size(); k++) at[k] = tensors[k].defined() ? tensors[k].data() : nullptr;
  OptimFn run = UNDERTOW_CHOOSE_ISA(optim_step(algorithm, parameter.dtype() == DType::Float64));
  int64_t width = parameter.itemsize();
  parallel_for(0, parameter.numel(), kGrain, [&](int64_t begin, int64_t end) {
    void* from[kMaxOptimTensors];
    for (int k = 0; k < kMaxOptimTensors; k++) from[k] = at[k] ? static_cast<char*>(at[k]) + begin * width : nullptr;
    run(from, end - begin, constants);
  });
}

void steps(const Tensor&, OptimAlgorithm algorithm, std::span<const OptimStep> all) {
  for (const OptimStep& s : all) run_step(algorithm, s.tensors, s.constants);
}

}  // namespace

constinit const OptimKernels optim_kernels = {.steps = steps};

}  // namespace undertow::core::cpu
