// inplace.h: writes to tensors with history: which ones raise, and how the history is updated.
//
// Note [Views And In-place]
// A view keeps a pointer to its root base (views of views too). A write to a view is a write to the base: the base's
// new grad_fn is CopySlices, which applies the derivative of the writing operation to the view's part of the gradient.
// Every other view of the base finds, by the version counter, that its grad_fn is stale and recomputes it as an
// as_strided of the base. This does not work for a view created in no_grad, by a function with several outputs, or in
// inference mode: writing to it raises. The tensor flags kView* record the case. A view with another dtype, conj bit or
// neg bit is not an as_strided of its base; it keeps a ViewFunction, which recomputes it from the base step by step.
// A writing operation that saves its result saves the view, in the view's layout; Note [Saved Outputs] says what its
// history is.
#pragma once
#include "core/autograd/op_types.h"
#include "core/graph/node.h"

namespace undertow::core::ops {

// Raises for a write that autograd cannot track. `record`: grad mode is on and an operand requires grad.
void check_inplace(const Tensor& self, const char* name, bool record);
// After the write: makes node the history of self, or of its base through CopySlices. `self_edge`: the index of self's
// edge in node; one past the last if there is none.
void rebase_history(const Tensor& self, const Ref<Node>& node, uint32_t self_edge = 0);
// A write to a tensor where tangents are involved. The operation itself runs as without tangents, so that a reverse
// pass is the same whether a dual level is open or not; while it runs, runs(self) is true.
class DualWrite {
 public:
  // `result`: what the operation computes out of place, with the tangent that self will have; undefined for zeros.
  DualWrite(const Tensor& self, const Tensor& result);
  ~DualWrite();
  DualWrite(const DualWrite&) = delete;
  DualWrite& operator=(const DualWrite&) = delete;
  static bool runs(const Tensor& self);
  const Tensor& finish();  // after the write; returns self

 private:
  const Tensor& self_;
  Tensor tangent_;
  const TensorImpl* enclosing_;
};
// After a write to self: sets its tangent to `now`, and updates that of its base.
void write_tangent(const Tensor& self, Tensor now);

// For in-place views (transpose_): no element is written. self takes the sizes and strides of `view`, and its version
// counter is incremented.
void take_geometry(const Tensor& self, const Tensor& view);
// After that: makes node the history of self alone, whether it is a view or not.
void set_view_history(const Tensor& self, const Ref<Node>& node);

// Makes `view` a view of `self`; see Note [Views And In-place]. `creation`: kViewMultiOutput or 0.
void make_view(const Tensor& self, const Tensor& view, uint32_t creation);
// Makes `other`, a tensor without history on self's memory, share self's version counter.
void share_version(const Tensor& self, const Tensor& other);
// Makes self use the storage, sizes and strides of source; self keeps its version counter.
void replace_memory(const Tensor& self, const Tensor& source);

}  // namespace undertow::core::ops
