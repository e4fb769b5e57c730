// inplace.h: writing to tensors that have history: what is refused, and how history follows the write.
//
// Note [Views And In-place]
// A view remembers its root base (views of views too). A write through a view is a write to the base: the base's new
// grad_fn is CopySlices, which applies the writing operation's derivative to the view's part of the gradient, and every
// other view of the base finds, by the version counter, that its own grad_fn is stale and makes it anew as an
// as_strided of the base. A view made in no_grad, by a function of several outputs, or in inference mode cannot follow
// this and refuses; the tensor flags kView* remember which.
#pragma once
#include "core/autograd/op_types.h"
#include "core/graph/node.h"

namespace undertow::ops {

// Refuses a write that autograd cannot follow. `record`: grad mode is on and something involved requires grad.
void check_inplace(const Tensor& self, const char* name, bool record);
// After the write: node becomes self's history, or its base's through CopySlices.
void rebase_history(const Tensor& self, const Ref<Node>& node);
// The write had no derivative (fill with a constant through an operator without formula): history ends here.
void erase_history(const Tensor& self);
[[noreturn]] void refuse_inplace_without_derivative(const Tensor& self);
// Writes `result` (which carries the new tangent) into self.
const Tensor& inplace_with_tangent(const Tensor& self, const Tensor& result);

}  // namespace undertow::ops
