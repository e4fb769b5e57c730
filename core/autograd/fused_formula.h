// fused_formula.h: whether a derivative may be one fused loop over memory, or must be composed of operators.
#pragma once
#include "core/tensor/mode.h"

namespace undertow::core::ops {

// Operators are needed if the derivative will be differentiated, has tangents, has batched gradients,
// or if a __torch_dispatch__ mode is to see them.
inline bool needs_operators() {
  uint32_t bits = thread_mode.bits | process_mode.load(std::memory_order_relaxed);
  return grad_enabled() || (bits & (kForwardLevel | kTransform | kDispatchMode));
}

}  // namespace undertow::core::ops
