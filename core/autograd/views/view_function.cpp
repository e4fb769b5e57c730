// view_function.cpp: see view_function.h; also turns a tensor into a view.
// build: small
#include "core/autograd/views/view_function.h"

#include "core/autograd/views/inplace.h"
#include "core/graph/saved_tensor.h"
#include "core/tensor/layout.h"
#include "core/tensor/mode.h"
#include "generated/ops.h"

namespace undertow::core {

namespace {

enum class Step : uint8_t { Strided, AsReal, AsComplex, Conj, Neg };

class ViewStep final : public ViewFunction {
 public:
  ViewStep(std::shared_ptr<ViewFunction> before, Step step) : before_(std::move(before)), step_(step) {}
  // The sizes, strides and offset of `to` relative to `from`, which `before` computes.
  ViewStep(std::shared_ptr<ViewFunction> before, const TensorImpl* from, const TensorImpl* to)
      : before_(std::move(before)),
        step_(Step::Strided),
        sizes_(to->sizes()),
        strides_(to->strides()),
        shift_(to->offset - from->offset) {}

  Tensor replay(const Tensor& base) const override {
    Tensor t = before_ ? before_->replay(base) : base;
    switch (step_) {
      case Step::Strided:
        return ops::as_strided(t, sizes_, strides_, t.storage_offset() + shift_);
      case Step::AsReal:
        return ops::view_as_real(t);
      case Step::AsComplex:
        return ops::view_as_complex(t);
      case Step::Conj:
        return ops::conj(t);
      default:
        return ops::_neg_view(t);
    }
  }

 private:
  std::shared_ptr<ViewFunction> before_;  // null: start from the base
  Step step_;
  Dims sizes_, strides_;
  int64_t shift_ = 0;
};

}  // namespace

std::shared_ptr<ViewFunction> view_function(const Tensor& self, const Tensor& view) {
  const TensorImpl *s = self.impl(), *v = view.impl();
  uint32_t bits = (s->flags ^ v->flags) & (kConj | kNeg);
  std::shared_ptr<ViewFunction> before = s->meta ? s->meta->view_fn : nullptr;
  if (s->dtype == v->dtype && !bits) return before ? std::make_shared<ViewStep>(before, s, v) : nullptr;
  if (!before && s->has(kIsView)) before = std::make_shared<ViewStep>(nullptr, s->base, s);
  Step step = s->dtype != v->dtype ? (is_complex(s->dtype) ? Step::AsReal : Step::AsComplex)
              : bits & kConj       ? Step::Conj
                                   : Step::Neg;
  return std::make_shared<ViewStep>(before, step);
}

Tensor replay_view(const Tensor& view, const Tensor& base) {
  const TensorImpl* v = view.impl();
  if (v->meta && v->meta->view_fn) return v->meta->view_fn->replay(base);
  return ops::as_strided(base, view.sizes(), view.strides(),
                         base.storage_offset() + view.storage_offset() - v->base->offset);
}

namespace ops {

void share_version(const Tensor& self, const Tensor& other) {
  TensorImpl *s = self.impl(), *o = other.impl();
  if (UT_UNLIKELY(s->has(kOwnVersion) || s->storage != o->storage)) {  // wrappers have no memory in common
    make_meta(o).version_holder = Ref<Storage>(s->version_holder());
    o->set(kOwnVersion);
  }
  if (UT_UNLIKELY(s->has(kInference))) o->set(kInference);
}

static void forget_view(TensorImpl* v) {
  std::exchange(v->base, nullptr)->release();
  v->flags &= ~(kIsView | kViewNoGrad | kViewMultiOutput | kViewInference | kViewCustom);
  if (v->meta) v->meta->view_fn.reset();
}

void make_view(const Tensor& self, const Tensor& view, uint32_t creation) {
  TensorImpl *v = view.impl(), *s = self.impl();
  if (v == s) return;
  if (UT_UNLIKELY(v->has(kIsView))) forget_view(v);  // made by a __torch_dispatch__, in no_grad
  if (UT_UNLIKELY(s->has(kInference | kOwnVersion | kDispatched))) {
    share_version(self, view);
    if (s->has(kInference)) return;  // writes to inference tensors are not tracked
  }
  constexpr uint32_t kCreation = kViewNoGrad | kViewMultiOutput | kViewInference | kViewCustom;
  if (UT_UNLIKELY(thread_mode.bits & (kInferenceMode | kNoGrad)))
    creation = mode_is(kInferenceMode) ? kViewInference : kViewNoGrad;
  // Without kDetachedInPlace, which is the same bit on a tensor that is no view.
  if (!creation) creation = s->flags & (s->has(kIsView) ? kCreation : kCreation & ~kDetachedInPlace);
  TensorImpl* base = s->has(kIsView) ? s->base : s;
  base->retain();
  v->base = base;
  v->flags |= kIsView | creation;
  if (UT_UNLIKELY(s->dtype != v->dtype || ((s->flags ^ v->flags) & (kConj | kNeg)) || (s->meta && s->meta->view_fn)))
    make_meta(v).view_fn = view_function(self, view);
  v->attr_version = v->version();
}

void replace_memory(const Tensor& self, const Tensor& source) {
  TensorImpl *to = self.impl(), *from = source.impl();
  if (to == from) return;
  // The tensor keeps its version counter. It is that of the old storage, if views share it; otherwise the number moves
  // to a counter of its own, so that the old storage is not kept alive.
  if (!to->has(kOwnVersion)) {
    bool shared = to->storage->use_count() > 1 && (to->has(kIsView) || to->use_count() > 1);
    uint32_t version = to->version();
    Ref<Storage> old(to->storage);
    make_own_version(self);
    if (shared)
      to->meta->version_holder = old;
    else
      to->version_holder()->set_version(version);
  }
  from->storage->retain();
  to->storage->release();
  to->storage = from->storage;
  to->offset = from->offset;
  to->dtype = from->dtype;
  to->device = from->device;
  to->set_layout(source.sizes(), source.strides());
  to->set(kConj, from->has(kConj));
  to->set(kNeg, from->has(kNeg));
  to->set(kSparse, from->has(kSparse));
}

}  // namespace ops
}  // namespace undertow::core
