// loss_kind.h: the losses of one element and its target that kernels compute.
#pragma once
#include <cstdint>

namespace undertow {

// Bce: of a probability. BceLogits: of its logit. BceLogitsWeighted: positive targets counted `weight` times.
enum class LossKind : uint8_t { Squared, SmoothL1, Huber, SoftMargin, Bce, BceLogits, BceLogitsWeighted };

// How the losses of elements become one number; torch's constants.
enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

}  // namespace undertow
