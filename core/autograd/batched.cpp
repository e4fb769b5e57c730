// batched.cpp: see batched.h.
#include "core/autograd/batched.h"

#include "core/graph/autograd_meta.h"
#include "core/tensor/layout.h"

namespace undertow::core::batched {

void (*handler)(const char* key, std::span<const Boxed> args, Results& out) = nullptr;

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

Results run(const char* key, std::initializer_list<Boxed> args) {
  UT_CHECK(handler, "no rules are installed, so ", key, " cannot be computed on a batched or sparse tensor");
  Results out;
  handler(key, {args.begin(), args.size()}, out);
  return out;
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
bool is_delegated(const Tensor& t) { return t.defined() && t.impl()->has(kDelegated); }
bool is_delegated(TensorSpan list) {
  for (const Tensor& t : list)
    if (is_delegated(t)) return true;
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

void call(const char* key, std::initializer_list<Boxed> args, Tensor& out) {
  out = std::move(run(key, args).tensors.at(0));
}
void call(const char* key, std::initializer_list<Boxed> args, std::vector<Tensor>& out) {
  out = std::move(run(key, args).tensors);
}
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor>& out) {
  Results r = run(key, args);
  out = {std::move(r.tensors.at(0)), std::move(r.tensors.at(1))};
}
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor, Tensor>& out) {
  Results r = run(key, args);
  out = {std::move(r.tensors.at(0)), std::move(r.tensors.at(1)), std::move(r.tensors.at(2))};
}
void call(const char* key, std::initializer_list<Boxed> args, std::tuple<Tensor, Tensor, Tensor, Tensor>& out) {
  Results r = run(key, args);
  out = {std::move(r.tensors.at(0)), std::move(r.tensors.at(1)), std::move(r.tensors.at(2)),
         std::move(r.tensors.at(3))};
}
void call(const char* key, std::initializer_list<Boxed> args, Scalar& out) { out = run(key, args).number; }
void call(const char* key, std::initializer_list<Boxed> args, bool& out) { out = run(key, args).number.to<bool>(); }
void call(const char* key, std::initializer_list<Boxed> args) { run(key, args); }

void raise_out_delegated(const char* name, uint32_t flags) {
  UT_CHECK_AS(NotImplemented, !(flags & kSparse), name,
              "(..., out=): sparse tensors have no form with out=; use the "
              "returned tensor");
  UT_CHECK_AS(NotImplemented, !(flags & kDispatched), name,
              "(..., out=): tensors with a __torch_dispatch__ have no form with out=; use the returned tensor");
  UT_FAIL("Batching rule not implemented for ", name,
          "(..., out=): under vmap no operator writes into a tensor given by out=; use the returned tensor");
}

}  // namespace undertow::core::batched
