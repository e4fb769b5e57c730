// inplace.cpp: see inplace.h.
#include "core/autograd/views/inplace.h"

#include "core/autograd/delegated/batched.h"
#include "core/autograd/recording.h"
#include "core/autograd/tangents.h"
#include "core/autograd/views/captured.h"
#include "core/autograd/views/copy_slices.h"
#include "core/autograd/views/view_function.h"
#include "core/forward/copy/copy.h"
#include "core/graph/forward_level.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core {

namespace {

// "Unbind" for UnbindBackward0, as in torch's messages.
std::string operation_name(const Node& node) {
  std::string name = node.name();
  size_t at = name.rfind("Backward");
  return at == std::string::npos || at == 0 ? name : name.substr(0, at);
}

// Raises torch's error for a view that cannot be written. `written_now`: this view is the one being written.
void check_writable_view(const Tensor& view, bool written_now) {
  const TensorImpl* v = view.impl();
  constexpr uint32_t kCreation = kViewNoGrad | kViewMultiOutput | kViewInference | kViewCustom;
  if (UT_LIKELY(!v->has(kCreation))) return;
  std::string written = written_now ? "is being" : "its base or another view of its base has been";
  std::string which =
      v->grad_fn ? str("Output ", v->output_nr, " of ", operation_name(*v->grad_fn), " is a view") : "A view";
  std::string text;
  if (v->has(kViewInference | kViewNoGrad) || !v->grad_fn) {
    std::string origin = v->grad_fn ? which + " of a view which was created in" : "A view was created in";
    text = v->has(kViewInference)
               ? str(origin, " inference mode and ", written, " modified inplace in normal mode.")
               : str(origin, " no_grad mode and ", written, " modified inplace with grad mode enabled.");
  } else {
    text = str(which, " and ", written, " modified inplace.");
  }
  const char* block = v->has(kViewInference) ? "inference_mode" : "no_grad";
  if (v->has(kViewMultiOutput)) {
    text +=
        " This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should "
        "replace the inplace operation by an out-of-place one.";
  } else if (v->has(kViewNoGrad | kViewInference)) {
    text +=
        str(" Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
            "moving both the view and the inplace either both "
            "inside the ",
            block,
            " block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
            "tracked).");
  } else {
    text +=
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the "
        "custom backward associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of "
        "the custom Function.";
  }
  UT_FAIL(text, " The view's shape is ", ShapeText{view.sizes()}, ".");
}

// A retained gradient belongs to the current value of the tensor, so its hook moves to the new node.
void move_retains_grad_hook(const Tensor& t, Node* old_fn, uint32_t old_nr) {
  AutogradMeta* meta = t.impl()->meta;
  if (!meta || !meta->retains_grad_hook) return;
  if (old_fn && old_fn->extra()) {
    auto& list = old_fn->extra()->retains_grad_hooks;
    std::erase_if(list, [&](const auto& p) { return p.first == old_nr && p.second == meta->retains_grad_hook; });
  }
  t.impl()->grad_fn->make_extra().retains_grad_hooks.emplace_back(t.impl()->output_nr, meta->retains_grad_hook);
}

void set_gradient_edge(const Tensor& t, const Ref<Node>& node, uint32_t nr) {
  TensorImpl* impl = t.impl();
  Ref<Node> old = Ref<Node>::adopt(impl->grad_fn);
  uint32_t old_nr = impl->output_nr;
  node->retain();
  impl->grad_fn = node.get();
  impl->output_nr = nr;
  impl->flags |= kRequiresGrad;
  if (impl->has(kIsView)) impl->attr_version = impl->version();
  move_retains_grad_hook(t, old.get(), old_nr);
}

}  // namespace

void regenerate_view_grad_fn(const Tensor& view) {
  TensorImpl* v = view.impl();
  check_writable_view(view, false);
  Tensor base{Ref<TensorImpl>(v->base)};
  Tensor fresh;
  {
    GradModeGuard grad(true);
    ModeGuard unseen(kDispatchMode, false);  // bookkeeping, not an operator of the program
    if (UT_UNLIKELY(v->grad_fn && !base.requires_grad())) {
      // The base was detached and then written. As in torch the view still requires grad, but what it held is gone: its
      // gradient goes to a tensor that nobody sees.
      base = alias(base);
      base.impl()->set(kRequiresGrad);
    }
    fresh = replay_view(view, base);
  }
  if (fresh.impl()->grad_fn) set_gradient_edge(view, Ref<Node>(fresh.impl()->grad_fn), fresh.impl()->output_nr);
  v->attr_version = v->version();
}

namespace ops {

void check_inplace(const Tensor& self, const char* name, bool record) {
  if (UT_UNLIKELY(thread_mode.transform)) captured::check_not_captured(self, name);
  TensorImpl* impl = self.impl();
  if (UT_UNLIKELY(impl->has(kInference)) && !mode_is(kInferenceMode))
    UT_FAIL(
        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
        "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details. The "
        "operation is ",
        name, " on shape ", ShapeText{self.sizes()}, ".");
  if (!record) return;
  if (impl->has(kIsView)) {
    check_writable_view(self, true);
    UT_CHECK(!(self.requires_grad() && !impl->base->grad_fn),
             "a view of a leaf Variable that requires grad is being used in an in-place operation. The operation is ",
             name, " on shape ", ShapeText{self.sizes()}, "; clone the leaf first, or write under no_grad.");
  }
  UT_CHECK(!(self.requires_grad() && !impl->grad_fn && !impl->has(kIsView)),
           "a leaf Variable that requires grad is being used in an in-place operation. The operation is ", name,
           " on shape ", ShapeText{self.sizes()}, "; clone it first, or write under no_grad.");
}

void rebase_history(const Tensor& self, const Ref<Node>& node, uint32_t self_edge) {
  TensorImpl* impl = self.impl();
  if (!impl->has(kIsView)) {
    uint32_t nr = node->add_input(self);
    set_gradient_edge(self, node, nr);
    return;
  }
  node->add_input(self);
  Tensor base{Ref<TensorImpl>(impl->base)};
  Ref<Node> slices = make_copy_slices(base, self, node, self_edge);
  uint32_t nr = slices->add_input(base);
  set_gradient_edge(base, slices, nr);
  grad_fn(self);  // updates the history of this view
}

namespace {
// Copies `from` into `to`. If `to` is expanded, which fill_, zero_ and masked_fill_ can write, several of its elements
// are one number: it becomes the element that the operation changed, if any.
void write(Tensor to, Tensor from) {
  for (int64_t d = 0; d < to.dim(); d++) {
    if (to.stride(d) != 0 || to.size(d) < 2 || batched::is_batched(to)) continue;
    Tensor changed = argmax(to_dtype(ne(detach(from), detach(to)), DType::UInt8), d, true);
    from = gather(expand(from, to.sizes(), false), d, changed, false);
    to = narrow(to, d, 0, 1);
  }
  copy_(to, from, false);
}
}  // namespace

namespace {
thread_local const TensorImpl* written_dual = nullptr;

Tensor tangent_of_write(const Tensor& self, const Tensor& result) {
  Tensor now = tangent_of(result);
  if (!now.defined()) return fwd::zeros_on_device_of(self, self.sizes(), self.dtype());
  if (now.dtype() == self.dtype()) return now;
  return to_dtype(now.is_complex() && !self.is_complex() ? real(now) : now, self.dtype());
}
}  // namespace

DualWrite::DualWrite(const Tensor& self, const Tensor& result)
    : self_(self), tangent_(tangent_of_write(self, result)), enclosing_(written_dual) {
  written_dual = self.impl();
}
DualWrite::~DualWrite() { written_dual = enclosing_; }
bool DualWrite::runs(const Tensor& self) { return written_dual == self.impl(); }
const Tensor& DualWrite::finish() {
  written_dual = enclosing_;
  write_tangent(self_, std::move(tangent_));
  return self_;
}

namespace {
// A tangent of zeros in the layout of `base`, batched as `like` is.
Tensor zero_tangent_of(const Tensor& base, const Tensor& like) {
  SmallVector<int64_t, 4> levels;
  Dims sizes, strides;
  for (const Tensor* t = &like; batched::is_batched(*t); t = &batched::value_of(*t)) {
    levels.push_back(batched::level_of(*t));
    sizes.insert(0, batched::value_of(*t).size(0));
  }
  int64_t stride = 1;  // between two samples
  for (int64_t d = 0; d < base.dim(); d++) stride += (std::max<int64_t>(base.size(d), 1) - 1) * base.stride(d);
  for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) strides.insert(0, stride);
  for (int64_t d = 0; d < base.dim(); d++) sizes.push_back(base.size(d)), strides.push_back(base.stride(d));
  Tensor zeros = empty_strided_on_device_of(batched::physical(base), sizes, strides, base.dtype());
  fill_(zeros, Scalar(0));
  for (size_t i = levels.size(); i-- > 0;) zeros = batched::wrap(zeros, levels[i]);
  return zeros;
}
}  // namespace

void write_tangent(const Tensor& self, Tensor now) {
  Tensor before = tangent_of(self);
  if (!before.defined() && self.impl()->has(kIsView)) {
    // The base becomes a dual too, and the tangents of all its views are views of the base's tangent.
    Tensor base{Ref<TensorImpl>(self.impl()->base)};
    forward_level::set_tangent(base, zero_tangent_of(base, now));
    before = tangent_of(self);
  }
  // Write an existing tangent in place, because the tangents of views of self share its memory.
  if (before.defined()) {
    write(before, now);
    now = before;
  }
  forward_level::set_tangent(self, std::move(now));
  const Node* owner = self.impl()->has(kIsView) ? self.impl()->base->grad_fn : self.impl()->grad_fn;
  if (!owner) return;
  Node* writer = owner->inner_node();
  share_with_saved(self, writer ? writer : self.impl()->grad_fn);
}

void take_geometry(const Tensor& self, const Tensor& view) {
  TensorImpl* impl = self.impl();
  if (!view.is_same(self)) {
    if (impl->meta && impl->meta->view_fn) impl->meta->view_fn = view_function(self, view);
    impl->offset = view.storage_offset();
    impl->set_layout(view.sizes(), view.strides());
  }
  self.bump_version("a change of shape in place");
}

void set_view_history(const Tensor& self, const Ref<Node>& node) {
  uint32_t nr = node->add_input(self);
  set_gradient_edge(self, node, nr);
}

}  // namespace ops
}  // namespace undertow::core
