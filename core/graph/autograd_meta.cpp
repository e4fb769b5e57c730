// autograd_meta.cpp: see autograd_meta.h.
#include "core/graph/autograd_meta.h"

#include <mutex>

#include "core/graph/accumulate_grad.h"
#include "core/graph/cycles.h"
#include "core/graph/forward_level.h"
#include "core/graph/retains_grad.h"

namespace undertow {

namespace {
// Guards the creation of metadata and accumulators: two threads may record on one leaf at once. Held for a few
// instructions, never while anything else is locked.
std::mutex creation_mutex;
const Tensor kUndefined;
}  // namespace

AutogradMeta& make_meta(TensorImpl* impl) {
  if (!impl->meta) {
    std::lock_guard lock(creation_mutex);
    if (!impl->meta) impl->meta = new AutogradMeta;
  }
  return *impl->meta;
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
  // A view's history is its base's: if the base was written since the view's node was made, make it anew.
  if (UT_UNLIKELY(impl->has(kIsView)) && !impl->has(kInference) && (impl->grad_fn || impl->base->has(kRequiresGrad)) &&
      impl->attr_version != impl->version())
    regenerate_view_grad_fn(t);
  return impl->grad_fn;
}

Ref<Node> grad_accumulator(const Tensor& leaf) {
  AutogradMeta& meta = make_meta(leaf);
  if (UT_UNLIKELY(static_cast<bool>(meta.foreign_accumulator))) return meta.foreign_accumulator;
  if (!meta.accumulator) {
    std::lock_guard lock(creation_mutex);
    if (!meta.accumulator) meta.accumulator = new AccumulateGrad(leaf.impl());
  }
  return Ref<Node>(meta.accumulator);
}

Storage* TensorImpl::own_version_holder() const { return meta->version_holder.get(); }

void make_own_version(const Tensor& t) {
  make_meta(t).version_holder = Storage::allocate(0);
  t.impl()->set(kOwnVersion);
}

}  // namespace undertow
