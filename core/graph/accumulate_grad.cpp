// accumulate_grad.cpp: see accumulate_grad.h.
#include "core/graph/accumulate_grad.h"

#include <utility>

#include <pthread.h>

#include <mutex>
#include <new>
#include <optional>

#include "core/base/interpreter_lock.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/cycles.h"
#include "core/graph/diagnostics/trace.h"
#include "core/graph/engine/graph_task.h"
#include "core/graph/tensor_ops.h"
#include "core/tensor/layout.h"

namespace undertow::core {

namespace {

// Passes on several threads may reach one leaf. One of a few mutexes, chosen by address, guards its .grad. A thread
// that waits for one releases the interpreter lock first, because the holder may need it (e.g. to destroy a Python
// tensor).
constexpr size_t kStripes = 64;
std::mutex stripes[kStripes];

class LeafLock {
 public:
  explicit LeafLock(const TensorImpl* leaf) : mutex_(stripes[reinterpret_cast<uintptr_t>(leaf) / 64 % kStripes]) {
    static const int registered = pthread_atfork(nullptr, nullptr, [] {
      for (std::mutex& m : stripes) new (&m) std::mutex;  // the threads that hold them do not exist in the child
    });
    (void)registered;
    if (mutex_.try_lock()) return;
    WithoutInterpreter free;
    mutex_.lock();
  }
  ~LeafLock() { mutex_.unlock(); }
  LeafLock(const LeafLock&) = delete;
  LeafLock& operator=(const LeafLock&) = delete;

 private:
  std::mutex& mutex_;
};

}  // namespace

AccumulateGrad::AccumulateGrad(TensorImpl* leaf) : leaf_(leaf) {
  refs_.store(0, std::memory_order_relaxed);
  is_embedded_ = true;
  sequence_ = UINT64_MAX;  // runs as soon as it is ready
  num_inputs_ = 1;
  refresh_meta();
}

void AccumulateGrad::on_first_reference() { leaf_->retain(); }

void AccumulateGrad::refresh_meta() {
  const GradDType wanted = leaf_->meta ? leaf_->meta->grad_dtype : GradDType{};
  meta_.set(leaf_->sizes(), wanted.choice == GradDType::Chosen ? wanted.dtype : leaf_->dtype, leaf_->device);
  meta_.set_any_dtype(wanted.choice == GradDType::Any);
}

void AccumulateGrad::on_last_reference() {
  if (extra_) {  // several threads may record on one leaf, so write only if needed
    NodeExtra* extra = std::exchange(extra_, nullptr);
    if (extra->metadata && release_node_metadata) release_node_metadata(extra->metadata);
    delete extra;
  }
  TensorImpl* leaf = leaf_;
  if (UT_UNLIKELY(leaf->meta->accumulator != this)) delete_self();  // retired
  leaf->release();
}

namespace {

// True for a view of all the memory of a tensor that nobody else uses, such as the transpose that is the gradient of a
// linear layer's weight. It is as good as a new tensor; copying it would cost time and peak memory of the weight's
// size.
bool is_sole_view(const Tensor& grad) {
  const TensorImpl* t = grad.impl();
  return !t->has(kBatched) && t->base->use_count() == 1 && !t->base->meta && t->storage->use_count() == 2 &&
         t->storage->nbytes() == static_cast<size_t>(grad.numel() * itemsize(t->dtype));
}

// Sums with a sparse operand, as torch has them: a sparse gradient stays sparse until a dense one arrives; a dense
// .grad is written in place.
void accumulate_sparse(TensorImpl* leaf, Tensor& current, Tensor grad) {
  if (!current.defined()) {
    if (!grad_enabled()) {
      current =
          graph_ops::is_exclusive_sparse(grad) ? graph_ops::detach(grad) : graph_ops::clone(graph_ops::detach(grad));
      return;
    }
    current = graph_ops::clone(grad);
  } else if (!grad_enabled() && !(current.is_sparse() && !grad.is_sparse())) {
    return graph_ops::add_in_place(current, grad);
  } else {
    current = graph_ops::add(current, grad);
  }
  if (current.impl()->grad_fn) cycles::suspect(leaf);
}

// `own_references`: how many references to the gradient the caller has; more than one if it will show the gradient to
// hooks.
void add_to_grad(TensorImpl* leaf, Tensor grad, uint32_t own_references) {
  Tensor& current = leaf->meta->grad;
  if (UT_UNLIKELY(grad.is_sparse() || (current.defined() && current.is_sparse())))
    return accumulate_sparse(leaf, current, std::move(grad));
  if (!current.defined()) {
    // Keep the tensor itself if nobody else owns it and its strides match the leaf's; otherwise copy it to those
    // strides.
    bool own_order = is_non_overlapping_and_dense(leaf->sizes(), leaf->strides())
                         ? same(grad.strides(), leaf->strides()) || (grad.is_contiguous() && leaf->has(kContiguous))
                         : grad.is_contiguous();
    bool order_fits = own_order || mode_is(kAnyGradLayout);
    bool dispatched = grad.impl()->has(kDispatched) || mode_is(kDispatchMode);  // then as in torch, for the same calls
    bool exclusive = grad.impl()->use_count() <= own_references && !grad.impl()->has(kConj | kNeg | kInference) &&
                     (UT_UNLIKELY(dispatched)     ? true
                      : grad.impl()->has(kIsView) ? is_sole_view(grad)
                                                  : grad.storage().use_count() == 1);
    if (!grad_enabled() && exclusive && order_fits) {
      if (UT_UNLIKELY(dispatched)) {
        current = graph_ops::detach(grad);
        return;
      }
      if (grad.impl()->has(kIsView) || UT_UNLIKELY(own_references > 1)) grad = alias(grad);
      if (grad.requires_grad()) grad = graph_ops::detach(grad);
      current = std::move(grad);
    } else if (!grad_enabled()) {
      current = graph_ops::clone_into_layout_of(dispatched ? grad : graph_ops::detach(grad), leaf);
    } else {
      current = graph_ops::clone_into_layout_of(grad, leaf);
      if (current.impl()->grad_fn) cycles::suspect(leaf);
    }
    return;
  }
  if (!grad_enabled()) {
    // In place, as in torch, so that every owner of .grad sees the sum.
    graph_ops::add_in_place(current, grad);
  } else {
    current = graph_ops::add(current, grad);
    if (current.impl()->grad_fn) cycles::suspect(leaf);
  }
}

}  // namespace

void retire_accumulator(TensorImpl* leaf) {
  AccumulateGrad* old = leaf->meta ? leaf->meta->accumulator : nullptr;
  if (!old) return;
  if (old->use_count() > 0)
    leaf->meta->accumulator = nullptr;
  else
    old->refresh_meta();
}

void accumulate_grad(TensorImpl* leaf, Tensor grad) { add_to_grad(leaf, std::move(grad), 1); }

void AccumulateGrad::apply(std::span<Tensor> grad_outputs, std::span<Tensor>) {
  if (!leaf_->has(kRequiresGrad)) return;
  UT_CHECK(!leaf_->grad_fn, "leaf variable has been moved into the graph interior");
  if (grad_outputs[0].defined()) {
    LeafLock lock(leaf_);
    // The pass keeps a reference for post-hooks, which see the memory of .grad, as in torch.
    bool kept_for_hooks = UT_UNLIKELY(extra_ != nullptr) && !extra_->post_hooks.empty();
    add_to_grad(leaf_, std::move(grad_outputs[0]), kept_for_hooks ? 2 : 1);
    if (UT_UNLIKELY(trace::on())) trace::record(TraceEvent::Accumulated, current_graph_task, this);
  }
  if (!leaf_->meta->post_accumulate_hooks.empty()) {
    Tensor leaf{Ref<TensorImpl>(leaf_)};
    auto hooks = leaf_->meta->post_accumulate_hooks;  // a hook may remove itself
    uint64_t number = 0;
    for (auto& hook : hooks) {
      if (trace::on()) trace::record(TraceEvent::PostHook, current_graph_task, this, {.other = number++});
      hook->call(leaf);
    }
  }
}

}  // namespace undertow::core
