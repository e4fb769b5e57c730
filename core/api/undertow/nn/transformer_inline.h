// transformer_inline.h: the definitions of transformer.h. The reference is undertow/nn/modules/transformer.py. In a
// header, so that it costs nothing where it is not used.
#pragma once
#include <undertow/nn/transformer.h>

#include <limits>

#include <undertow/nn/init.h>

namespace undertow::nn {

namespace transformer_detail {

inline Tensor causal_mask(int64_t size, const TensorOptions& options = {}) {
  return full({size, size}, -std::numeric_limits<double>::infinity(), options).triu(1);
}

inline bool is_causal(const Tensor& mask, const Tensor& sequence, bool batch_first) {
  if (!mask.defined()) return false;
  int64_t size = sequence.size(sequence.dim() == 3 && batch_first ? 1 : 0);
  if (mask.dim() != 2 || mask.size(0) != size || mask.size(1) != size) return false;
  return core::ops::item(core::ops::all(core::ops::eq(mask, causal_mask(size, mask.options())))).to<bool>();
}

inline Tensor normalized(const AnyModule& norm, Tensor out) {
  return norm.is_empty() ? out : AnyModule(norm).forward(std::move(out));
}

}  // namespace transformer_detail

namespace detail {

inline void TransformerLayer::register_parts(MultiheadAttention* second) {
  const auto& o = options;
  MultiheadAttentionOptions attention(o.d_model(), o.nhead());
  attention.dropout(o.dropout()).batch_first(o.batch_first());
  self_attn = register_module("self_attn", MultiheadAttention(attention));
  if (second) *second = register_module("multihead_attn", MultiheadAttention(attention));
  linear1 = register_module("linear1", Linear(o.d_model(), o.dim_feedforward()));
  dropout = register_module("dropout", Dropout(o.dropout()));
  linear2 = register_module("linear2", Linear(o.dim_feedforward(), o.d_model()));
  LayerNormOptions norm({o.d_model()});
  norm.eps(o.layer_norm_eps());
  norm1 = register_module("norm1", LayerNorm(norm));
  norm2 = register_module("norm2", LayerNorm(norm));
  if (second) norm3 = register_module("norm3", LayerNorm(norm));
  dropout1 = register_module("dropout1", Dropout(o.dropout()));
  dropout2 = register_module("dropout2", Dropout(o.dropout()));
  if (second) dropout3 = register_module("dropout3", Dropout(o.dropout()));
}

inline Tensor TransformerLayer::attend(MultiheadAttention& by, const Tensor& x, const Tensor& memory,
                                       const Tensor& mask, const Tensor& padding, bool is_causal) {
  return std::get<0>(
      by(x, memory, memory, padding, /*need_weights=*/false, mask, /*average_attn_weights=*/true, is_causal));
}

inline Tensor TransformerLayer::feed_forward(const Tensor& x) {
  Tensor inner = linear1(x);
  if (options.activation().index() == 0)
    inner = core::ops::relu(inner);
  else if (options.activation().index() == 1)
    inner = core::ops::gelu(inner);
  else
    inner = std::get<2>(options.activation())(inner);
  return linear2(dropout(inner));
}

}  // namespace detail

inline TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& options_)
    : Cloneable(options_) {
  reset();
}
inline void TransformerEncoderLayerImpl::reset() { register_parts(nullptr); }
inline Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask,
                                                   const Tensor& src_key_padding_mask, bool is_causal) {
  Tensor padding = detail::float_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype());
  Tensor mask = detail::float_mask(src_mask, "src_mask", src.dtype());
  Tensor x = residual(src, norm1, dropout1,
                      [&](const Tensor& t) { return attend(self_attn, t, t, mask, padding, is_causal); });
  return residual(x, norm2, dropout2, [&](const Tensor& t) { return feed_forward(t); });
}

inline TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& options_)
    : Cloneable(options_) {
  reset();
}
inline void TransformerDecoderLayerImpl::reset() { register_parts(&multihead_attn); }
inline Tensor TransformerDecoderLayerImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                                   const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                                   const Tensor& memory_key_padding_mask, bool tgt_is_causal) {
  Tensor x = residual(tgt, norm1, dropout1, [&](const Tensor& t) {
    return attend(self_attn, t, t, tgt_mask, tgt_key_padding_mask, tgt_is_causal);
  });
  x = residual(x, norm2, dropout2, [&](const Tensor& t) {
    return attend(multihead_attn, t, memory, memory_mask, memory_key_padding_mask, false);
  });
  return residual(x, norm3, dropout3, [&](const Tensor& t) { return feed_forward(t); });
}

inline TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions options_)
    : options(std::move(options_)) {
  reset();
}
inline void TransformerEncoderImpl::reset() {
  layers = register_module("layers", ModuleList());
  for (int64_t k = 0; k < options.num_layers(); k++) layers->push_back(options.encoder_layer()->clone());
  if (!options.norm().is_empty()) {
    options.norm(options.norm().clone());
    register_module("norm", options.norm().ptr());
  }
}
inline Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask,
                                              const Tensor& src_key_padding_mask) {
  Tensor padding = detail::float_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype());
  Tensor mask = detail::float_mask(src_mask, "mask", src.dtype());
  bool causal = transformer_detail::is_causal(mask, src, options.encoder_layer()->options.batch_first());
  Tensor out = src;
  for (auto& layer : *layers) out = layer->as<TransformerEncoderLayer>()->forward(out, mask, padding, causal);
  return transformer_detail::normalized(options.norm(), std::move(out));
}

inline TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions options_)
    : options(std::move(options_)) {
  reset();
}
inline void TransformerDecoderImpl::reset() {
  layers = register_module("layers", ModuleList());
  for (int64_t k = 0; k < options.num_layers(); k++) layers->push_back(options.decoder_layer()->clone());
  if (!options.norm().is_empty()) {
    options.norm(options.norm().clone());
    register_module("norm", options.norm().ptr());
  }
}
inline Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                              const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                              const Tensor& memory_key_padding_mask) {
  bool causal = transformer_detail::is_causal(tgt_mask, tgt, options.decoder_layer()->options.batch_first());
  Tensor out = tgt;
  for (auto& layer : *layers)
    out = layer->as<TransformerDecoderLayer>()->forward(out, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                                                        memory_key_padding_mask, causal);
  return transformer_detail::normalized(options.norm(), std::move(out));
}

inline TransformerImpl::TransformerImpl(TransformerOptions options_) : options(std::move(options_)) { reset(); }
inline void TransformerImpl::reset() {
  const auto& o = options;
  TransformerEncoderLayerOptions layer(o.d_model(), o.nhead());
  layer.dim_feedforward(o.dim_feedforward()).dropout(o.dropout()).activation(o.activation());
  layer.layer_norm_eps(o.layer_norm_eps()).batch_first(o.batch_first()).norm_first(o.norm_first());
  AnyModule norm(LayerNorm(LayerNormOptions({o.d_model()}).eps(o.layer_norm_eps())));
  encoder = register_module(
      "encoder",
      TransformerEncoder(TransformerEncoderOptions(TransformerEncoderLayer(layer), o.num_encoder_layers()).norm(norm)));
  decoder = register_module(
      "decoder",
      TransformerDecoder(TransformerDecoderOptions(TransformerDecoderLayer(layer), o.num_decoder_layers()).norm(norm)));
  reset_parameters();
}
inline void TransformerImpl::reset_parameters() {
  for (const Tensor& p : parameters())
    if (p.dim() > 1) init::xavier_uniform_(p);
}
inline Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask,
                                       const Tensor& tgt_mask, const Tensor& memory_mask,
                                       const Tensor& src_key_padding_mask, const Tensor& tgt_key_padding_mask,
                                       const Tensor& memory_key_padding_mask) {
  int64_t batch = options.batch_first() ? 0 : 1;
  UT_CHECK(src.dim() != 3 || src.size(batch) == tgt.size(batch), "the batch number of src and tgt must be equal");
  UT_CHECK(src.size(-1) == options.d_model() && tgt.size(-1) == options.d_model(),
           "the feature number of src and tgt must be equal to d_model");
  Tensor memory = encoder(src, src_mask, src_key_padding_mask);
  return decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
}
inline Tensor TransformerImpl::generate_square_subsequent_mask(int64_t size) {
  return transformer_detail::causal_mask(size);
}

}  // namespace undertow::nn
