// one_pass.h: may a derivative be computed in one pass over raw memory, or must it be made of operators?
#pragma once
#include "core/tensor/mode.h"

namespace undertow::ops {

// Made of operators where it will be differentiated, carries tangents, or has batched gradients.
inline bool must_be_operators() { return grad_enabled() || (thread_mode.bits & (kForwardLevel | kTransform)); }

}  // namespace undertow::ops
