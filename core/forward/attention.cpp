// attention.cpp: scaled dot-product attention, forward and backward: checks and masks.
// build: small
#include <cmath>
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/attention.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd.h"

namespace undertow::core::fwd {

namespace {

AttentionShape shape_of(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, std::optional<double> scale) {
  UT_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4,
           "scaled_dot_product_attention: expected query, key and value of 4 dimensions, got ", q.dim(), ", ", k.dim(),
           " and ", v.dim());
  AttentionShape s{.batch = q.size(0),
                   .heads = q.size(1),
                   .queries = q.size(2),
                   .keys = k.size(2),
                   .width = q.size(3),
                   .values = v.size(3),
                   .group = 1,
                   .causal = causal,
                   .scale = scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))))};
  bool fit = k.size(0) == s.batch && v.size(0) == s.batch && k.size(3) == s.width && v.size(2) == s.keys &&
             k.size(1) == v.size(1) && k.size(1) > 0 && s.heads % k.size(1) == 0;
  UT_CHECK(fit, "scaled_dot_product_attention: query ", ShapeText{q.sizes()}, ", key ", ShapeText{k.sizes()},
           " and value ", ShapeText{v.sizes()}, " are not compatible");
  s.group = s.heads / k.size(1);
  return s;
}

// The mask as values to add, expanded to (batch, heads, queries, keys).
Tensor mask_of(const Tensor& mask, const AttentionShape& s, DType wide) {
  if (!mask.defined()) return {};
  Tensor values = to_dtype(mask, wide);
  if (mask.dtype() == DType::Bool)
    values = where(mask, zeros_on_device_of(mask, mask.sizes(), wide),
                   full_on_device_of(mask, mask.sizes(), Scalar(-std::numeric_limits<double>::infinity()), wide));
  const Dims whole{s.batch, s.heads, s.queries, s.keys};
  UT_CHECK(mask.dim() <= 4 && is_expandable_to(mask.sizes(), whole), "scaled_dot_product_attention: a mask of ",
           ShapeText{mask.sizes()}, " does not broadcast to ", ShapeText{whole});
  return expand(values, whole, false);
}

// The dtype in which scores are added up, and the one that the device's kernels take.
DType sum_dtype(DType t) { return is_reduced_float(t) ? DType::Float32 : t; }
DType kernel_dtype(const Tensor& t) { return backend_of(t).attention->takes_half ? t.dtype() : sum_dtype(t.dtype()); }

// A gradient of (batch, heads, length, width) in torch's layout: the heads of one position next to each other, as a
// linear layer that computed them all left them.
Tensor allocate_gradient(const Tensor& t, DType wide) {
  return transpose(empty_on_device_of(t, Dims{t.size(0), t.size(2), t.size(1), t.size(3)}, wide), 1, 2);
}

}  // namespace

std::tuple<Tensor, Tensor> _scaled_dot_product_flash_attention_for_cpu(const Tensor& query, const Tensor& key,
                                                                       const Tensor& value, double dropout_p,
                                                                       bool is_causal, const Tensor& attn_mask,
                                                                       std::optional<double> scale) {
  UT_CHECK(dropout_p == 0, "_scaled_dot_product_flash_attention_for_cpu: dropout is not supported, got ", dropout_p);
  UT_CHECK(is_floating(query.dtype()), "expected scalar type Float but found ", long_name(query.dtype()));
  AttentionShape s = shape_of(query, key, value, is_causal, scale);
  DType wide = kernel_dtype(query), sums = sum_dtype(query.dtype());
  Tensor q = to_dtype(query, wide), k = to_dtype(key, wide), v = to_dtype(value, wide);
  Dims sizes{s.batch, s.heads, s.queries, s.values};
  Tensor out = s.values == s.width ? allocate_like(q, wide) : empty_on_device_of(q, sizes, wide);
  Tensor lse = empty_on_device_of(q, IntSpan(sizes).first(3), sums);
  if (out.numel()) backend_of(q).attention->forward(out, lse, q, k, v, mask_of(attn_mask, s, sums), s);
  return {to_dtype(out, query.dtype()), lse};
}

std::tuple<Tensor, Tensor, Tensor> _flash_attention_backward(const Tensor& dy, const Tensor& query, const Tensor& key,
                                                             const Tensor& value, const Tensor& out, const Tensor& lse,
                                                             bool is_causal, const Tensor& attn_mask,
                                                             std::optional<double> scale) {
  AttentionShape s = shape_of(query, key, value, is_causal, scale);
  DType wide = kernel_dtype(query), sums = sum_dtype(query.dtype());
  Tensor g = to_dtype(dy, wide), q = to_dtype(query, wide), k = to_dtype(key, wide), v = to_dtype(value, wide),
         o = to_dtype(out, wide);
  Tensor dq = allocate_gradient(q, wide), dk = allocate_gradient(k, wide), dv = allocate_gradient(v, wide),
         l = contiguous(to_dtype(lse, sums));
  if (out.numel())
    backend_of(q).attention->backward(dq, dk, dv, g, q, k, v, o, l, mask_of(attn_mask, s, sums), s);
  else
    for (const Tensor& t : {dq, dk, dv}) fill_into(t, Scalar(0));
  return {to_dtype(dq, query.dtype()), to_dtype(dk, key.dtype()), to_dtype(dv, value.dtype())};
}

}  // namespace undertow::core::fwd
