// fused_formula.h: may a derivative be one fused loop over memory, or must it be made of operators?
#pragma once
#include "core/tensor/mode.h"

namespace undertow::ops {

// Operators are needed where the derivative will be differentiated, carries tangents, or has batched gradients.
inline bool must_be_operators() { return grad_enabled() || (thread_mode.bits & (kForwardLevel | kTransform)); }

}  // namespace undertow::ops
