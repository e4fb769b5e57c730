// inplace.h: writing to tensors that have history: what is refused, and how history follows the write.
//
// Note [Views And In-place]
// A view remembers its root base (views of views too). A write through a view is a write to the base: the base's new
// grad_fn is CopySlices, which applies the writing operation's derivative to the view's part of the gradient, and every
// other view of the base finds, by the version counter, that its own grad_fn is stale and makes it anew as an
// as_strided of the base. A view made in no_grad, by a function of several outputs, or in inference mode cannot follow
// this and refuses; the tensor flags kView* remember which. A view of another dtype or with another conj or neg bit is
// no as_strided of its base; it keeps a ViewFunction, which makes it anew from the base step by step.
#pragma once
#include "core/autograd/op_types.h"
#include "core/graph/node.h"

namespace undertow::ops {

// Refuses a write that autograd cannot follow. `record`: grad mode is on and something involved requires grad.
void check_inplace(const Tensor& self, const char* name, bool record);
// After the write: node becomes self's history, or its base's through CopySlices. `self_edge`: which of node's edges is
// self's; one past the last if it has none.
void rebase_history(const Tensor& self, const Ref<Node>& node, uint32_t self_edge = 0);
// Writes `result` (which carries the new tangent) into self.
const Tensor& inplace_with_tangent(const Tensor& self, const Tensor& result);
// The same for the tangent alone: after a write to self its tangent is `now`, and a base's is brought in step.
void write_tangent(const Tensor& self, Tensor now);

// Views in place (transpose_): no element is written, self itself takes the geometry of `view`, and counts as written.
void take_geometry(const Tensor& self, const Tensor& view);
// After that: node becomes the history of self alone, a view or not.
void set_view_history(const Tensor& self, const Ref<Node>& node);

// Makes `view` a view of `self`; see Note [Views And In-place]. `creation`: kViewMultiOutput, or 0.
void make_view(const Tensor& self, const Tensor& view, uint32_t creation);
// Makes `other`, a second tensor on self's memory without history, see self's writes.
void share_version(const Tensor& self, const Tensor& other);
// Makes self use source's storage and geometry; the version counter stays with self.
void replace_memory(const Tensor& self, const Tensor& source);

}  // namespace undertow::ops
