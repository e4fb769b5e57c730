// tangents.cpp: see tangents.h.
// build: small
#include "core/autograd/tangents.h"

#include "core/autograd/delegated/delegated.h"
#include "core/autograd/views/view_function.h"
#include "core/forward/copy/copy.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/forward_level.h"
#include "core/graph/saved_fields.h"
#include "core/graph/saved_tensor.h"
#include "core/tensor/layout.h"
#include "generated/ops.h"

namespace undertow::core::ops {

Tensor tangent_of(const Tensor& t) {
  if (!t.defined() || mode_is(kNoTangents)) return {};
  const TensorImpl* impl = t.impl();
  if (impl->has(kHasTangent)) return impl->meta->tangent;
  if (!impl->has(kIsView) || !impl->base->has(kHasTangent)) return {};
  // The view was made before a write gave its base a tangent.
  Tensor tangent = replay_view(t, impl->base->meta->tangent);
  forward_level::set_tangent(t, tangent);
  return tangent;
}
std::vector<Tensor> tangents_of(TensorSpan list) {
  std::vector<Tensor> out;
  for (const Tensor& t : list) out.push_back(tangent_of(t));
  return out;
}

namespace {
bool same_strides(const Tensor& a, const Tensor& b) {
  for (int64_t d = 0; d < a.dim(); d++)
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}
}  // namespace

Tensor fit_tangent(const Tensor& t, const Tensor& tangent) {
  if (t.numel() == 0 || same_strides(t, tangent) || !is_non_overlapping_and_dense(t.sizes(), t.strides()))
    return tangent;
  return copy(empty_strided_on_device_of(tangent, t.sizes(), t.strides(), tangent.dtype()), tangent, false);
}

namespace {
// True if another tensor may hold the tangent's memory: a rule may return an input's tangent itself, as for x + 1.
bool is_shared(const Tensor& tangent) {
  if (tangent.impl()->use_count() > 1) return true;
  return !tangent.impl()->has(kBatched) && tangent.storage().use_count() > 1;
}
bool is_view_of_own_tangent(const Tensor& t, const Tensor& tangent) {
  Tensor own = tangent_of(t);
  return own.defined() && !((own.impl()->flags | tangent.impl()->flags) & kBatched) &&
         &own.storage() == &tangent.storage();
}
}  // namespace

void set_tangent(const Tensor& t, const Tensor& tangent) {
  if (!t.defined() || !tangent.defined() || !is_differentiable(t.dtype())) return;
  // A write to a tensor writes its tangent in place. Only views may share memory, and what transpose_ and its like make
  // of the tangent that t has: views of t share that one.
  const bool copied = !t.impl()->has(kIsView) && is_shared(tangent) && !is_view_of_own_tangent(t, tangent);
  Tensor fit = copied ? ops::clone(tangent, std::nullopt) : tangent;
  if (fit.dtype() != t.dtype())
    fit = is_complex(fit.dtype()) && !t.is_complex() ? ops::to_dtype(ops::real(fit), t.dtype())
                                                     : ops::to_dtype(fit, t.dtype());
  if (!same(fit.sizes(), t.sizes())) fit = ops::expand(fit, t.sizes(), false);
  forward_level::set_tangent(t, fit_tangent(t, fit));
}
void set_tangent(const std::vector<Tensor>& list, const std::vector<Tensor>& tangents) {
  for (size_t i = 0; i < list.size() && i < tangents.size(); i++) set_tangent(list[i], tangents[i]);
}
namespace {
// The tangent of a new dual: the given tensor if its layout matches the primal's, as in torch, and otherwise a
// copy with the primal's strides and bits, so that later writes do not reach the caller's tensor.
Tensor with_layout_of(const Tensor& t, const Tensor& tangent) {
  constexpr uint32_t kBits = kConj | kNeg;
  const TensorImpl *p = t.impl(), *d = tangent.impl();
  if ((p->flags | d->flags) & (kBatched | kOtherDevice)) return fit_tangent(t, tangent);
  if (p->storage->nbytes() == d->storage->nbytes() && (p->offset == d->offset || !t.numel()) &&
      same_strides(t, tangent) && !((p->flags ^ d->flags) & kBits))
    return tangent;
  if (t.numel() == 0 || has_internal_overlap(t.sizes(), t.strides())) return clone(tangent, std::nullopt);
  int64_t extent = 1;
  for (int64_t i = 0; i < t.dim(); i++) extent += (t.size(i) - 1) * t.stride(i);
  Tensor made =
      alias(fwd::zeros(Dims{extent}, tangent.dtype(), tangent.device()), t.sizes(), t.strides(), 0, tangent.dtype());
  made.impl()->set(kBits, false);
  made.impl()->set(p->flags & kBits);
  copy_(made, tangent, false);
  return made;
}
}  // namespace

Tensor make_dual(const Tensor& t, const Tensor& tangent) {
  UT_CHECK(forward_level::current() >= 0,
           "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.");
  UT_CHECK(same(t.sizes(), tangent.sizes()),
           "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
           "supported. Tensor is of size ",
           ShapeText{t.sizes()}, " while the given forward gradient is of size ", ShapeText{tangent.sizes()}, ".");
  UT_CHECK(!tangent_of(t).defined(),
           "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level ",
           forward_level::current(), " is not supported.");
  UT_CHECK(!tangent_of(tangent).defined(),
           "Setting a forward grad that itself has a forward gradient at the same level", forward_level::current(),
           " is not supported.");
  UT_CHECK(is_complex(t.dtype()) || !is_complex(tangent.dtype()), "make_dual: a real tensor of dtype ", t.dtype(),
           " cannot have a tangent of dtype ", tangent.dtype());
  Tensor dual = view(t, t.sizes());
  forward_level::set_tangent(
      dual, with_layout_of(t, tangent.dtype() == t.dtype() ? tangent : ops::to_dtype(tangent, t.dtype())));
  return dual;
}
std::pair<Tensor, Tensor> unpack_dual(const Tensor& t) {
  Tensor tangent = tangent_of(t);
  if (!tangent.defined()) return {t, {}};
  return {view(primal_of(t), t.sizes()), tangent};  // not a view of t, which would have t's tangent
}

Tensor primal_of(const Tensor& dual) {
  if (!tangent_of(dual).defined()) return dual;
  // An alias with the same edge to the graph. Not a view: recording a view would ask for its tangent and so call this
  // function again.
  Tensor primal;
  if (UT_UNLIKELY(dual.impl()->flags & kDispatched))
    delegated::call("view", {dual, dual.sizes()}, primal);  // by its class, which alone knows what is inside
  else
    primal = alias(dual);
  if (!grad_enabled() || !dual.requires_grad()) return primal;  // unrecorded, also views that raise when they are
  Edge edge = gradient_edge(dual);
  if (edge.node->is_accumulate()) {
    make_meta(primal).foreign_accumulator = edge.node;
  } else {
    edge.node->retain();
    primal.impl()->grad_fn = edge.node.get();
    primal.impl()->output_nr = edge.input_nr;
  }
  primal.impl()->set(kRequiresGrad);
  return primal;
}
std::vector<Tensor> primal_of(TensorSpan duals) {
  std::vector<Tensor> out;
  for (const Tensor& t : duals) out.push_back(primal_of(t));
  return out;
}
void add_tangent(Tensor& sum, const Tensor& part) { sum = sum.defined() ? sum + part : part; }

Tensor zeros_if_undefined(const Tensor& tangent, const Tensor& like) {
  return tangent.defined() || !like.defined() ? tangent : fwd::zeros_on_device_of(like, like.sizes(), like.dtype());
}
std::vector<Tensor> zeros_if_undefined(const std::vector<Tensor>& tangents, TensorSpan like) {
  std::vector<Tensor> out;
  out.reserve(tangents.size());
  for (size_t i = 0; i < tangents.size(); i++) out.push_back(zeros_if_undefined(tangents[i], like[i]));
  return out;
}
void share_with_saved(const Tensor& result) {
  if (result.defined()) share_with_saved(result, result.impl()->grad_fn);
}
void share_with_saved(const Tensor& result, Node* node) {
  if (!node || !result.impl()->has(kHasTangent)) return;
  size_t count = 0;
  const SavedField* fields = node->saved_fields(&count);
  for (size_t i = 0; i < count; i++)
    if (fields[i].kind == SavedKind::Tensor) saved_member<SavedTensor>(node, fields[i]).share_tangent(result);
}
void share_with_saved(const std::vector<Tensor>& results) {
  for (const Tensor& r : results) share_with_saved(r);
}
void raise_no_forward_derivative(const char* name) {
  UT_FAIL_AS(NotImplemented, "Trying to use forward AD with ", name,
             " that does not support it because it has not been implemented yet.");
}

}  // namespace undertow::core::ops
