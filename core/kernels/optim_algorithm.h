// optim_algorithm.h: the optimizers that have a kernel, and the maximum number of tensors and constants of a step.
#pragma once
#include <cstdint>

namespace undertow::core {

enum class OptimAlgorithm : uint8_t {
  Sgd,
  Adam,
  Adamax,
  NAdam,
  RAdam,
  RMSprop,
  Adagrad,
  Adadelta,
  Rprop,
  Asgd,
  Ftrl,
  RMSpropInRoot,
  Count
};
inline constexpr int kOptimAlgorithms = static_cast<int>(OptimAlgorithm::Count);
inline constexpr int kMaxOptimTensors = 6;
inline constexpr int kMaxOptimConstants = 12;

}  // namespace undertow::core
