// autograd_meta.cpp: see autograd_meta.h.
#include "core/graph/autograd_meta.h"

#include <atomic>
#include <mutex>

#include "core/graph/accumulate_grad.h"
#include "core/graph/cycles.h"
#include "core/graph/forward_level.h"
#include "core/graph/retains_grad.h"

namespace undertow::core {

namespace {
// Guards the creation of metadata and accumulators: two threads may record on one leaf at the same time. Held for a few
// instructions, and never while another lock is taken.
std::mutex creation_mutex;
const Tensor kUndefined;

// Creates *p once. A thread that sees the pointer also sees the finished object.
template <class T, class Make>
T* create_once(T*& p, Make make) {
  std::atomic_ref<T*> shared(p);
  if (T* there = shared.load(std::memory_order_acquire)) return there;
  std::lock_guard lock(creation_mutex);
  if (!p) shared.store(make(), std::memory_order_release);
  return p;
}
}  // namespace

AutogradMeta& make_meta(TensorImpl* impl) {
  return *create_once(impl->meta, [] { return new AutogradMeta; });
}

void destroy_autograd_meta(AutogradMeta* meta) {
  if (meta->retains_grad_hook) static_cast<RetainsGradHook*>(meta->retains_grad_hook.get())->forget_target();
  if (UT_UNLIKELY(meta->tangent.defined())) forward_level::forget(meta);
  if (UT_UNLIKELY(meta->has_gradient_history)) cycles::forget(meta);
  if (meta->accumulator) meta->accumulator->delete_self();
  if (meta->py_hooks && release_node_metadata) release_node_metadata(meta->py_hooks);
  delete meta;
}

const Tensor& grad_of(const Tensor& t) { return t.impl()->meta ? t.impl()->meta->grad : kUndefined; }
void set_grad(const Tensor& t, Tensor grad) {
  if (!grad.defined() && !t.impl()->meta) return;
  make_meta(t).grad = std::move(grad);
}

Node* grad_fn(const Tensor& t) {
  TensorImpl* impl = t.impl();
  // A view shares the history of its base. If the base was written after the view's node was recorded, recompute the
  // node.
  if (UT_UNLIKELY(impl->has(kIsView)) && !impl->has(kInference) && (impl->grad_fn || impl->base->has(kRequiresGrad)) &&
      impl->attr_version != impl->version())
    regenerate_view_grad_fn(t);
  return impl->grad_fn;
}

Ref<Node> grad_accumulator(const Tensor& leaf) {
  AutogradMeta& meta = make_meta(leaf);
  if (UT_UNLIKELY(static_cast<bool>(meta.foreign_accumulator))) return meta.foreign_accumulator;
  return Ref<Node>(create_once(meta.accumulator, [&] { return new AccumulateGrad(leaf.impl()); }));
}

Storage* TensorImpl::own_version_holder() const { return meta->version_holder.get(); }

void make_own_version(const Tensor& t) {
  make_meta(t).version_holder = Storage::allocate(0);
  t.impl()->set(kOwnVersion);
}

}  // namespace undertow::core
