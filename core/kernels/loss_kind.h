// loss_kind.h: the elementwise losses that kernels compute.
#pragma once
#include <cstdint>

namespace undertow::core {

// Bce: of a probability. BceLogits: of its logit. BceLogitsWeighted: positive targets are weighted by `weight`.
enum class LossKind : uint8_t { Squared, SmoothL1, Huber, SoftMargin, Bce, BceLogits, BceLogitsWeighted };

// How elementwise losses are reduced; torch's constants.
enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

}  // namespace undertow::core
