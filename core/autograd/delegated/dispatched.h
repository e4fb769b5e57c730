// dispatched.h: calls that a __torch_dispatch__ sees: that of an active mode, or of the class of an argument.
//
// Note [Dispatched Tensors]
// A recorder computes its result with fwd::name, which no Python sees. If an argument has the flag kDispatched, because
// its class has a __torch_dispatch__, or if the thread has the bit kDispatchMode, it passes the operator's key and its
// arguments to delegated::handler instead, and goes on with the result as with that of fwd::name. So __torch_dispatch__
// is called below autograd: history, saved tensors and versions belong to the tensors that the caller sees, and the
// formulas of a backward pass are operators like all others. The handler turns gradient mode off, translates the key to
// the operator that torch calls here (undertow/_aten), and calls the mode or the class.
// A tensor made by _make_wrapper_subclass has no memory: its storage has no bytes. Nothing below the recorders may see
// one; fwd::has_elements is false for it, and alias() keeps the flag.
#pragma once
#include "core/autograd/op_types.h"
#include "core/tensor/mode.h"

namespace undertow::core::ops {

static_assert(static_cast<uint32_t>(kDispatchMode) == static_cast<uint32_t>(kDispatched));

// Whether a __torch_dispatch__ sees a call with these tensors.
template <class... T>
bool is_dispatched(const T&... tensors) {
  uint32_t flags = thread_mode.bits;
  ((flags |= tensors.defined() ? tensors.impl()->flags : 0u), ...);
  return flags & kDispatched;
}

// The same for a formula that is one operator of torch's. If it is to be differentiated again, its operators are
// needed.
template <class... T>
bool is_dispatched_whole(const T&... tensors) {
  return UT_UNLIKELY(is_dispatched(tensors...)) && !grad_enabled();
}

}  // namespace undertow::core::ops
