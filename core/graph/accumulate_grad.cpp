// accumulate_grad.cpp: see accumulate_grad.h.
#include "core/graph/accumulate_grad.h"

#include "core/graph/autograd_meta.h"
#include "core/graph/tensor_ops.h"
#include "core/tensor/layout.h"

namespace undertow {

AccumulateGrad::AccumulateGrad(TensorImpl* leaf) : leaf_(leaf) {
  refs_.store(0, std::memory_order_relaxed);
  is_embedded_ = true;
  sequence_ = UINT64_MAX;  // runs as soon as it is ready
  num_inputs_ = 1;
  meta_.set(leaf->sizes(), leaf->dtype, leaf->device);
}

void AccumulateGrad::on_first_reference() { leaf_->retain(); }

void AccumulateGrad::refresh_meta() { meta_.set(leaf_->sizes(), leaf_->dtype, leaf_->device); }

void AccumulateGrad::on_last_reference() {
  extra_.reset();
  leaf_->release();
}

void AccumulateGrad::apply(std::span<Tensor> grad_outputs, std::span<Tensor>) {
  if (!grad_outputs[0].defined() || !leaf_->has(kRequiresGrad)) return;
  UT_CHECK(!leaf_->grad_fn, "leaf variable has been moved into the graph interior");
  accumulate_grad(leaf_, std::move(grad_outputs[0]));
  if (!leaf_->meta->post_accumulate_hooks.empty()) {
    Tensor leaf{Ref<TensorImpl>(leaf_)};
    auto hooks = leaf_->meta->post_accumulate_hooks;  // a hook may remove itself
    for (auto& hook : hooks) hook->call(leaf);
  }
}

void accumulate_grad(TensorImpl* leaf, Tensor grad) {
  Tensor& current = leaf->meta->grad;
  if (!current.defined()) {
    // Keep the tensor itself when it is ours alone and dense in the leaf's own order; else copy into that order.
    bool dense_alike = is_non_overlapping_and_dense(leaf->sizes(), leaf->strides())
                           ? same(grad.strides(), leaf->strides()) || (grad.is_contiguous() && leaf->has(kContiguous))
                           : grad.is_contiguous();
    bool exclusive = grad.impl()->use_count() == 1 && !grad.impl()->has(kConj | kNeg | kIsView | kInference);
    if (!grad_enabled() && exclusive && dense_alike) {
      if (grad.requires_grad()) grad = graph_ops::detach(grad);
      current = std::move(grad);
    } else if (!grad_enabled()) {
      current = graph_ops::clone_into_layout_of(graph_ops::detach(grad), leaf);
    } else {
      current = graph_ops::clone_into_layout_of(grad, leaf);
    }
    return;
  }
  if (!grad_enabled()) {
    // In place, so that whoever holds .grad sees the sum, as in torch.
    graph_ops::add_in_place(current, grad);
  } else {
    current = graph_ops::add(current, grad);
  }
}

}  // namespace undertow
