// optim.cpp: see optim.h. One launch has the steps of as many parameters as its parameters can hold.
#include "core/kernels/cuda/optim/optim.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/device/pack_choice.h"
#include "core/kernels/cuda/optim/optim_params.h"

namespace undertow::core::cuda {

namespace {

static_assert(OptimBatch::kLists == kMaxOptimTensors && OptimBatch::kConstants == kMaxOptimConstants);

KernelTemplate optim_steps("optim/optim.cuh", "optim_steps");

constexpr int kPacks = 2;  // per thread

// Names of the structs in optim.cuh, in the order of OptimAlgorithm; and how many constants each reads.
struct Algorithm {
  const char* name;
  size_t constants;
};
constexpr Algorithm kAlgorithms[kOptimAlgorithms] = {
    {"Sgd", 7},     {"Adam", 9},     {"Adamax", 6}, {"NAdam", 10}, {"RAdam", 9}, {"RMSprop", 6},
    {"Adagrad", 4}, {"Adadelta", 5}, {"Rprop", 5},  {"Asgd", 5},   {"Ftrl", 6},  {"RMSpropInRoot", 4}};

bool is_aligned(const OptimStep& s) {
  return std::all_of(s.tensors.begin(), s.tensors.end(),
                     [](const Tensor& t) { return !t.defined() || misalignment(t) == 0; });
}

// How many of an optimizer's states a parameter may have: those after the last one are not used.
int states_of(const OptimStep& s) {
  size_t lists = s.tensors.size();
  while (lists > 2 && !s.tensors[lists - 1].defined()) lists--;
  return static_cast<int>(lists) - 2;
}

// The number of steps from `first` on that one launch can do: with the same constants, alignment and states.
size_t alike(std::span<const OptimStep> steps, size_t constants) {
  const bool aligned = is_aligned(steps[0]);
  const int states = states_of(steps[0]);
  size_t n = 1, most = std::min<size_t>(steps.size(), OptimBatch::kTensors);
  auto same_constants = [&](const OptimStep& s) {
    return s.constants_on_device || std::equal(s.constants, s.constants + constants, steps[0].constants);
  };
  while (n < most && same_constants(steps[n]) && is_aligned(steps[n]) == aligned && states_of(steps[n]) == states) n++;
  return n;
}

void steps(const Tensor& first, OptimAlgorithm algorithm, std::span<const OptimStep> all) {
  Launcher on(first);
  const Algorithm& chosen = kAlgorithms[static_cast<size_t>(algorithm)];
  while (!all.empty()) {
    const size_t count = alike(all, chosen.constants);
    const int pack = is_aligned(all[0]) ? static_cast<int>(16 / first.itemsize()) : 1;
    OptimBatch batch;
    int64_t blocks = 0;
    batch.count = static_cast<int>(count);
    for (size_t i = 0; i < count; i++) {
      const std::span<const Tensor> tensors = all[i].tensors;
      batch.n[i] = tensors[0].numel();
      batch.first_block[i] = static_cast<int>(blocks);
      for (size_t k = 0; k < OptimBatch::kLists; k++)
        batch.at[i][k] = k < tensors.size() && tensors[k].defined() ? tensors[k].data() : nullptr;
      blocks += blocks_for(batch.n[i], int64_t{undertow::kOptimThreads} * kPacks * pack);
    }
    batch.first_block[count] = static_cast<int>(blocks);
    batch.constants_at = all[0].constants_on_device;
    if (!batch.constants_at) std::copy_n(all[0].constants, chosen.constants, batch.constants);
    on.run(optim_steps, {first.dtype(), chosen.name, states_of(all[0]), pack, kPacks},
           {.blocks = blocks, .threads = undertow::kOptimThreads}, batch);
    all = all.subspan(count);
  }
}

}  // namespace

const OptimKernels optim_kernels = {.steps = steps, .half_dtypes = true, .constants_on_device = true};

}  // namespace undertow::core::cuda
