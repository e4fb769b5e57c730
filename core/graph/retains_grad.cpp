// retains_grad.cpp: see retains_grad.h.
#include "core/graph/retains_grad.h"

#include "core/graph/autograd_meta.h"
#include "core/graph/cycles.h"
#include "core/graph/tensor_ops.h"

namespace undertow::core {

Tensor RetainsGradHook::call(const Tensor& grad) {
  std::lock_guard lock(mutex_);
  if (!target_) return {};
  // A batched pass over a graph that is not batched (is_grads_batched) has several gradients for one tensor, and the
  // batch ends with the pass. They are returned to its caller; .grad stays as it is.
  if (UT_UNLIKELY(grad.impl()->has(kBatched)) && !target_->has(kBatched)) return {};
  Tensor& current = make_meta(target_).grad;
  if (!current.defined()) {
    bool direct = grad_enabled() || mode_is(kDispatchMode);  // as in torch, whose calls a mode would see
    current = direct ? graph_ops::clone(grad) : graph_ops::clone(graph_ops::detach(grad));
  } else {
    current = graph_ops::add(current, grad);
  }
  if (current.impl()->grad_fn) cycles::suspect(target_);
  return {};
}

void RetainsGradHook::forget_target() {
  std::lock_guard lock(mutex_);
  target_ = nullptr;
}

void retain_grad(const Tensor& t) {
  UT_CHECK(t.requires_grad(), "can't retain_grad on Tensor that has requires_grad=False");
  Node* fn = grad_fn(t);
  if (!fn || t.impl()->has(kRetainsGrad)) return;
  AutogradMeta& meta = make_meta(t);
  meta.retains_grad_hook = Ref<TensorHook>(new RetainsGradHook(t.impl()));
  fn->make_extra().retains_grad_hooks.emplace_back(t.impl()->output_nr, meta.retains_grad_hook);
  t.impl()->set(kRetainsGrad);
}

}  // namespace undertow::core
