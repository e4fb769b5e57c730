// tensor_state.cpp: see tensor_state.h.
// build: small
#include "core/autograd/tensor_state.h"

#include <utility>

#include "core/autograd/views/captured.h"
#include "core/autograd/views/inplace.h"
#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/forward_level.h"
#include "core/graph/saved_tensor.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core {

void require_grad(const Tensor& t, bool on) {
  UT_CHECK(!on || !t.impl()->has(kBatched),
           "You are attempting to call Tensor.requires_grad_() on a tensor under vmap: it has no gradient of its own; "
           "use undertow.func.grad inside of the function");
  UT_CHECK(on || !grad_fn(t),
           "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
           "subgraph that doesn't require "
           "differentiation use var_no_grad = var.detach().");
  UT_CHECK(!on || is_differentiable(t.dtype()),
           "only Tensors of floating point dtype can require gradients, and complex ones; this one is ", t.dtype(),
           " of shape ", ShapeText{t.sizes()});
  UT_CHECK(!on || !t.impl()->has(kInference) || mode_is(kInferenceMode),
           "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
  if (!t.impl()->grad_fn) t.impl()->set(kRequiresGrad, on);
}

const Tensor& visible_grad(const Tensor& t) {
  const Tensor& grad = grad_of(t);
  if (t.impl()->grad_fn && !t.impl()->has(kRetainsGrad) && !grad.defined() && t.requires_grad())
    warn(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
        "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
        "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
        "you access the leaf Tensor instead.");
  return grad;
}

void detach_in_place(const Tensor& t) {
  TensorImpl* impl = t.impl();
  if (UT_UNLIKELY(thread_mode.transform)) captured::check_not_captured(t, "detach_");
  UT_CHECK(!impl->has(kIsView),
           "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
           "training, and gradient_as_bucket_view is set "
           "as True, gradients are views of DDP buckets, and hence detach_() cannot be called on these gradients.");
  if (UT_UNLIKELY(mode_is(kProvenance))) provenance::note_cut("detach_", t, t);
  if (impl->grad_fn) {
    impl->set(kDetachedInPlace);
    impl->attr_version = history_mark(impl->grad_fn, impl->output_nr);
    release_node(std::exchange(impl->grad_fn, nullptr));
  }
  impl->output_nr = 0;
  impl->set(kRequiresGrad, false);
  if (impl->has(kHasTangent)) forward_level::set_tangent(t, {});
}

Tensor data_of(const Tensor& t) {
  UT_CHECK(!t.impl()->has(kBatched), "accessing `data` under vmap transform is not allowed; use detach()");
  Tensor out = UT_UNLIKELY(t.impl()->has(kDispatched)) ? ops::detach(t) : alias(t);
  make_own_version(out);
  if (UT_UNLIKELY(mode_is(kProvenance))) provenance::note_cut(".data", out, t);
  return out;
}

void replace_data(const Tensor& t, const Tensor& source) {
  UT_CHECK(!t.requires_grad() || is_differentiable(source.dtype()),
           "data set to a tensor that requires gradients must be floating point or complex dtype; this one is ",
           source.dtype());
  bool other_kind = t.dtype() != source.dtype() || t.device() != source.device();
  ops::replace_memory(t, source);
  if (other_kind) retire_accumulator(t.impl());  // graphs recorded before still expect the old dtype
  if (t.impl()->meta && t.impl()->meta->accumulator) t.impl()->meta->accumulator->refresh_meta();
}

}  // namespace undertow::core
