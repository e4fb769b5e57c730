// batched.cpp: see batched.h.
#include "core/autograd/delegated/batched.h"

#include "core/graph/autograd_meta.h"
#include "core/tensor/layout.h"

namespace undertow::core::batched {

namespace {
// The sizes and strides of the first sample, on the value's own memory.
void take_first_sample(TensorImpl* impl, const TensorImpl* value) {
  impl->dtype = value->dtype;
  impl->set_device(value->device);
  impl->offset = value->offset;
  impl->set_layout(value->sizes().subspan(1), value->strides().subspan(1));
  // A sample counts as contiguous only if the whole value is: callers ask in order to view it with another shape.
  if (!value->has(kContiguous)) impl->set(kContiguous, false);
}

}  // namespace

Tensor wrap(const Tensor& value, int64_t level) {
  UT_CHECK(value.defined() && value.dim() > 0, "vmap: a batch needs at least one dimension");
  auto* impl = new TensorImpl;
  Tensor t = Tensor::adopt(impl);
  impl->storage = value.impl()->storage;
  impl->storage->retain();
  take_first_sample(impl, value.impl());
  impl->flags |= kBatched | (value.impl()->flags & (kConj | kNeg));
  AutogradMeta& meta = make_meta(t);
  meta.batched_value = value;
  meta.batched_level = level;
  return t;
}

bool is_batched(const Tensor& t) { return t.defined() && t.impl()->has(kBatched); }
bool is_batched(TensorSpan list) {
  for (const Tensor& t : list)
    if (is_batched(t)) return true;
  return false;
}
const Tensor& value_of(const Tensor& t) { return t.impl()->meta->batched_value; }
const Tensor& physical(const Tensor& t) {
  const Tensor* value = &t;
  while (is_batched(*value)) value = &value_of(*value);
  return *value;
}
int64_t level_of(const Tensor& t) {
  return t.defined() && t.impl()->has(kBatched) ? t.impl()->meta->batched_level : -1;
}

void refresh(const Tensor& t) { take_first_sample(t.impl(), value_of(t).impl()); }

}  // namespace undertow::core::batched
