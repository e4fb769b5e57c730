// attention.cpp: multi-head attention: projections, attention of each head, output projection. The reference is
// undertow/nn/_functions/attention.py.
// build: small
#include <cmath>
#include <limits>

#include <undertow/functions.h>
#include <undertow/nn/attention.h>
#include <undertow/nn/functional.h>
#include <undertow/nn/init.h>

namespace undertow::nn {

namespace ops = core::ops;

Tensor detail::float_mask(const Tensor& mask, const char* name, ScalarType dtype) {
  if (!mask.defined() || mask.is_floating_point()) return mask;
  UT_CHECK(mask.dtype() == kBool, "only bool and floating types of ", name, " are supported");
  Tensor zeros = ops::zeros_like(mask, dtype);
  return ops::masked_fill_(zeros, mask, Scalar(-std::numeric_limits<double>::infinity()));
}

namespace functional {

namespace {

using Sizes = std::initializer_list<int64_t>;
core::IntSpan span(Sizes sizes) { return {sizes.begin(), sizes.size()}; }
Tensor view(const core::Tensor& t, Sizes size) { return ops::view(t, span(size)); }

// The results of a projection with stacked weights, each contiguous.
std::vector<core::Tensor> projections_of(const Tensor& together, int64_t parts, int64_t size) {
  Tensor apart = ops::unflatten(together, -1, span({parts, size}));
  apart = ops::contiguous(ops::squeeze(ops::transpose(ops::unsqueeze(apart, 0), 0, -2), -2));
  std::vector<core::Tensor> out;
  for (int64_t k = 0; k < parts; k++) out.push_back(ops::select(apart, 0, k));
  return out;
}

struct Projected {
  Tensor q, k, v;
};

Projected project(const Tensor& q, const Tensor& k, const Tensor& v, const MultiheadAttentionForwardFuncOptions& o) {
  int64_t size = q.size(-1);
  const Tensor &weight = o.in_proj_weight(), &bias = o.in_proj_bias();
  std::vector<core::Tensor> weights, biases(3);
  if (o.use_separate_proj_weight()) {
    weights = {o.q_proj_weight(), o.k_proj_weight(), o.v_proj_weight()};
    for (const core::Tensor& w : weights)
      UT_CHECK(w.defined(),
               "use_separate_proj_weight is true but q_proj_weight, k_proj_weight or v_proj_weight is not "
               "given");
  } else {
    UT_CHECK(weight.defined(), "use_separate_proj_weight is false but in_proj_weight is not given");
    if (k.is_same(v) && q.is_same(k)) {
      std::vector<core::Tensor> p = projections_of(ops::linear(q, weight, bias), 3, size);
      return {p[0], p[1], p[2]};
    }
    if (k.is_same(v)) {
      std::vector<core::Tensor> w = ops::split(weight, span({size, 2 * size})), b(2);
      if (bias.defined()) b = ops::split(bias, span({size, 2 * size}));
      std::vector<core::Tensor> p = projections_of(ops::linear(k, w[1], b[1]), 2, size);
      return {ops::linear(q, w[0], b[0]), p[0], p[1]};
    }
    weights = ops::chunk(weight, 3);
  }
  if (bias.defined()) biases = ops::chunk(bias, 3);
  return {ops::linear(q, weights[0], biases[0]), ops::linear(k, weights[1], biases[1]),
          ops::linear(v, weights[2], biases[2])};
}

Tensor joined(const Tensor& a, const Tensor& b, int64_t dim) {
  core::Tensor both[] = {a, b};
  return ops::cat(both, dim);
}

// The mask with an additional key, which is not masked.
Tensor with_extra_key(const Tensor& mask) {
  if (!mask.defined()) return mask;
  std::vector<int64_t> size = mask.sizes().vec();
  size.back() = 1;
  return joined(mask, ops::new_zeros(mask, size), -1);
}

Tensor split_heads(const Tensor& t, int64_t parallel, int64_t width) {
  return ops::transpose(view(t, {t.size(0), parallel, width}), 0, 1);
}

void check_dims(const Tensor& query, const Tensor& key, const Tensor& value,
                const MultiheadAttentionForwardFuncOptions& o) {
  int64_t dims = query.dim();
  UT_CHECK(dims == 2 || dims == 3, "query should be unbatched 2D or batched 3D tensor but received ", dims,
           "-D query tensor");
  UT_CHECK(key.dim() == dims && value.dim() == dims, "For a ", dims, "-D `query`, expected `key` and `value` to be ",
           dims, "-D but found ", key.dim(), "-D and ", value.dim(), "-D tensors respectively");
  const Tensor &padding = o.key_padding_mask(), &mask = o.attn_mask();
  UT_CHECK(!padding.defined() || padding.dim() == dims - 1, "For a ", dims,
           "-D `query`, expected `key_padding_mask` to be undefined or ", dims - 1, "-D but found ",
           padding.defined() ? padding.dim() : 0, "-D tensor instead");
  UT_CHECK(!mask.defined() || mask.dim() == 2 || mask.dim() == 3,
           "expected `attn_mask` to be undefined, 2-D or 3-D but found ", mask.defined() ? mask.dim() : 0,
           "-D tensor instead");
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query_, const Tensor& key_, const Tensor& value_,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  check_dims(query_, key_, value_, o);
  Tensor query = query_, key = key_, value = value_, padding = o.key_padding_mask(), mask = o.attn_mask();
  const bool has_batch = query.dim() == 3;
  if (!has_batch) {
    // Tensors that are the same stay the same, so that they are projected in one product.
    query = query_.unsqueeze(1);
    key = key_.is_same(query_) ? query : Tensor(key_.unsqueeze(1));
    value = value_.is_same(query_) ? query : value_.is_same(key_) ? key : Tensor(value_.unsqueeze(1));
    if (padding.defined()) padding = padding.unsqueeze(0);
  }
  const int64_t length = query.size(0), batch = query.size(1), size = query.size(2), heads = o.num_heads();
  int64_t keys = key.size(0);
  padding = nn::detail::float_mask(padding, "key_padding_mask", query.dtype());
  UT_CHECK(!o.is_causal() || mask.defined(), "Need attn_mask if specifying the is_causal hint.");
  bool causal = o.is_causal();
  if (causal && !padding.defined() && !o.need_weights()) {
    mask = {};  // the hint is enough
  } else {
    mask = nn::detail::float_mask(mask, "attn_mask", query.dtype());
    causal = causal && !padding.defined();
  }
  UT_CHECK(size == o.embed_dim_to_check(), "was expecting embedding dimension of ", o.embed_dim_to_check(),
           ", but got ", size);
  const int64_t width = size / heads, parallel = batch * heads;
  UT_CHECK(width * heads == size, "embed_dim ", size, " not divisible by num_heads ", heads);
  UT_CHECK(key.size(0) == value.size(0) && key.size(1) == value.size(1),
           "key's sequence and batch dims do not match value's");
  auto [q, k, v] = project(query, key, value, o);

  if (mask.defined()) {
    bool fits = mask.dim() == 2 ? mask.size(0) == length && mask.size(1) == keys
                                : mask.size(0) == parallel && mask.size(1) == length && mask.size(2) == keys;
    UT_CHECK(fits, "The shape of the ", mask.dim(), "D attn_mask is ", core::ShapeText{mask.sizes()},
             ", but should be (", length, ", ", keys, ") after (", parallel, ") for 3D");
    if (mask.dim() == 2) mask = mask.unsqueeze(0);
  }
  if (o.bias_k().defined() && o.bias_v().defined()) {
    UT_CHECK(!o.static_k().defined() && !o.static_v().defined(), "bias cannot be added to static key or value.");
    k = joined(k, ops::repeat(o.bias_k(), span({1, batch, 1})), 0);
    v = joined(v, ops::repeat(o.bias_v(), span({1, batch, 1})), 0);
    mask = with_extra_key(mask);
    padding = with_extra_key(padding);
  }
  q = split_heads(q, parallel, width);
  k = o.static_k().defined() ? o.static_k() : split_heads(k, parallel, width);
  v = o.static_v().defined() ? o.static_v() : split_heads(v, parallel, width);
  if (o.add_zero_attn()) {
    k = joined(k, ops::new_zeros(k, span({parallel, 1, width})), 1);
    v = joined(v, ops::new_zeros(v, span({parallel, 1, width})), 1);
    mask = with_extra_key(mask);
    padding = with_extra_key(padding);
  }
  keys = k.size(1);
  if (padding.defined()) {
    UT_CHECK(padding.size(0) == batch && padding.size(1) == keys, "Expected key_padding_mask of shape (", batch, ", ",
             keys, "), but got ", core::ShapeText{padding.sizes()});
    Tensor hidden = ops::reshape(ops::expand(view(padding, {batch, 1, 1, keys}), span({-1, heads, -1, -1})),
                                 span({parallel, 1, keys}));
    mask = mask.defined() ? Tensor(ops::add(mask, hidden)) : hidden;
  }
  const double dropout_p = o.training() ? o.dropout_p() : 0.0;
  Tensor out, weights;
  if (o.need_weights()) {
    UT_CHECK(!causal || mask.defined(), "need_weights: a causal hint needs attn_mask");
    Tensor scaled = ops::mul(q, Scalar(std::sqrt(1.0 / static_cast<double>(width))));
    Tensor k_transposed = ops::transpose(k, -2, -1);
    weights = mask.defined() ? ops::baddbmm(mask, scaled, k_transposed) : ops::bmm(scaled, k_transposed);
    weights = ops::softmax(weights, -1);
    if (dropout_p > 0) weights = dropout(weights, DropoutFuncOptions().p(dropout_p));
    out = view(ops::contiguous(ops::transpose(ops::bmm(weights, v), 0, 1)), {length * batch, size});
    weights = view(weights, {batch, heads, length, keys});
    if (o.average_attn_weights()) weights = ops::mean(weights, span({1}));
  } else {
    if (mask.defined())
      mask = mask.size(0) == 1 ? Tensor(mask.unsqueeze(0)) : Tensor(view(mask, {batch, heads, -1, keys}));
    auto apart = [&](const Tensor& t) { return view(t, {batch, heads, t.size(1), width}); };
    out = ops::scaled_dot_product_attention(apart(q), apart(k), apart(v), mask, dropout_p, causal);
    out = view(ops::contiguous(ops::permute(out, span({2, 0, 1, 3}))), {batch * length, size});
  }
  out = ops::view(ops::linear(out, o.out_proj_weight(), o.out_proj_bias()), core::Dims{length, batch, size});
  if (has_batch) return {out, weights};
  return {out.squeeze(1), weights.defined() ? Tensor(weights.squeeze(0)) : weights};
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale) {
  return ops::scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale);
}

}  // namespace functional

// -- the module

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options_) : options(options_) {
  const auto& o = options;
  UT_CHECK_VALUE(o.embed_dim() > 0 && o.num_heads() > 0,
                 "embed_dim and num_heads must be greater than 0, got embed_dim=", o.embed_dim(),
                 " and num_heads=", o.num_heads(), " instead");
  head_dim = o.embed_dim() / o.num_heads();
  UT_CHECK(head_dim * o.num_heads() == o.embed_dim(), "embed_dim must be divisible by num_heads");
  reset();
}

void MultiheadAttentionImpl::reset() {
  const auto& o = options;
  auto fresh = [](std::initializer_list<int64_t> size) {
    return Tensor(core::ops::empty(core::IntSpan(size.begin(), size.size())));
  };
  const int64_t size = o.embed_dim();
  _qkv_same_embed_dim = o.kdim() == size && o.vdim() == size;
  if (_qkv_same_embed_dim) {
    in_proj_weight = register_parameter("in_proj_weight", fresh({3 * size, size}));
  } else {
    q_proj_weight = register_parameter("q_proj_weight", fresh({size, size}));
    k_proj_weight = register_parameter("k_proj_weight", fresh({size, o.kdim()}));
    v_proj_weight = register_parameter("v_proj_weight", fresh({size, o.vdim()}));
  }
  in_proj_bias = register_parameter("in_proj_bias", o.bias() ? fresh({3 * size}) : Tensor());
  out_proj = register_module("out_proj", Linear(LinearOptions(size, size).bias(o.bias())));
  if (o.add_bias_kv()) {
    bias_k = register_parameter("bias_k", fresh({1, 1, size}));
    bias_v = register_parameter("bias_v", fresh({1, 1, size}));
  }
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  for (const Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight})
    if (weight.defined()) init::xavier_uniform_(weight);
  if (in_proj_bias.defined()) {
    init::constant_(in_proj_bias, 0);
    init::constant_(out_proj->bias, 0);
  }
  for (const Tensor& bias : {bias_k, bias_v})
    if (bias.defined()) init::xavier_normal_(bias);
}

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                           const Tensor& key_padding_mask, bool need_weights,
                                                           const Tensor& attn_mask, bool average_attn_weights,
                                                           bool is_causal) {
  const bool transposed = options.batch_first() && query.dim() == 3;
  Tensor q = query, k = key, v = value;
  if (transposed) {
    q = query.transpose(1, 0);
    k = key.is_same(query) ? q : Tensor(key.transpose(1, 0));
    v = value.is_same(key) ? k : Tensor(value.transpose(1, 0));
  }
  functional::MultiheadAttentionForwardFuncOptions o(options.embed_dim(), options.num_heads(), in_proj_weight,
                                                     in_proj_bias, bias_k, bias_v, options.add_zero_attn(),
                                                     options.dropout(), out_proj->weight, out_proj->bias);
  o.training(is_training()).key_padding_mask(key_padding_mask).need_weights(need_weights).attn_mask(attn_mask);
  o.use_separate_proj_weight(!_qkv_same_embed_dim).q_proj_weight(q_proj_weight).k_proj_weight(k_proj_weight);
  o.v_proj_weight(v_proj_weight).average_attn_weights(average_attn_weights).is_causal(is_causal);
  auto [out, weights] = functional::multi_head_attention_forward(q, k, v, o);
  return {transposed ? Tensor(out.transpose(1, 0)) : out, weights};
}

std::string MultiheadAttentionImpl::describe() const { return "undertow::nn::MultiheadAttention"; }

}  // namespace undertow::nn
