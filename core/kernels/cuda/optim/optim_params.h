// optim_params.h: the steps of many parameters as one kernel's parameter. Included by the host and the device; the
// includer has defined int64_t.
#pragma once

namespace undertow {

inline constexpr int kOptimThreads = 256;

struct OptimBatch {
  static constexpr int kTensors = 48;  // parameters of a launch: all of this must stay below 4 KiB
  static constexpr int kLists = 6;     // parameter, gradient, states
  static constexpr int kConstants = 12;
  int count;
  int first_block[kTensors + 1];  // of each parameter; the last entry is the number of blocks
  int64_t n[kTensors];
  void* at[kTensors][kLists];  // null: a state that is not used
  double constants[kConstants];
  const double* constants_at;  // if not null: a row of kConstants for each parameter in device memory, used instead
};

}  // namespace undertow
