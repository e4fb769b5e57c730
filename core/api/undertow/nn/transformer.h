// transformer.h: transformer layers, stacks of them, and the whole model.
#pragma once
#include <undertow/nn/attention.h>
#include <undertow/nn/containers.h>
#include <undertow/nn/normalization.h>

namespace undertow::nn {

namespace detail {
// What encoder and decoder layers share. The encoder layer has one attention, the decoder layer a second one.
class TransformerLayer : public Module {
 public:
  explicit TransformerLayer(const TransformerEncoderLayerOptions& options_) : options(options_) {}
  TransformerEncoderLayerOptions options;
  MultiheadAttention self_attn{nullptr};
  Linear linear1{nullptr}, linear2{nullptr};
  Dropout dropout{nullptr}, dropout1{nullptr}, dropout2{nullptr}, dropout3{nullptr};
  LayerNorm norm1{nullptr}, norm2{nullptr}, norm3{nullptr};

 protected:
  void register_parts(MultiheadAttention* second_attention);
  Tensor attend(MultiheadAttention& by, const Tensor& x, const Tensor& memory, const Tensor& mask,
                const Tensor& padding, bool is_causal);
  Tensor feed_forward(const Tensor& x);
  // x + block(x), normalized before the block or after the sum.
  template <class Block>
  Tensor residual(const Tensor& x, LayerNorm& norm, Dropout& drop, Block block) {
    return options.norm_first() ? x + drop(block(norm(x))) : norm(x + drop(block(x)));
  }
};
}  // namespace detail

// Self-attention and a feed-forward network, each added to its input and normalized. Masks are added to the scores, or
// are true where attention is not allowed.
class TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl, detail::TransformerLayer> {
 public:
  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
      : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}
  explicit TransformerEncoderLayerImpl(const TransformerEncoderLayerOptions& options_);
  inline void reset() override;
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {},
                 bool is_causal = false);
};
UNDERTOW_MODULE(TransformerEncoderLayer);

// The same, with attention to an encoder's output between the two.
class TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl, detail::TransformerLayer> {
 public:
  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
      : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}
  explicit TransformerDecoderLayerImpl(const TransformerDecoderLayerOptions& options_);
  inline void reset() override;
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {},
                 bool tgt_is_causal = false);
  MultiheadAttention multihead_attn{nullptr};
};
UNDERTOW_MODULE(TransformerDecoderLayer);

struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
  UNDERTOW_ARG(TransformerEncoderLayer, encoder_layer) = nullptr;
  UNDERTOW_ARG(int64_t, num_layers);
  UNDERTOW_ARG(AnyModule, norm);
};
struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
  UNDERTOW_ARG(TransformerDecoderLayer, decoder_layer) = nullptr;
  UNDERTOW_ARG(int64_t, num_layers);
  UNDERTOW_ARG(AnyModule, norm);
};

// A stack of layers, initialized as copies of one.
class TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}
  explicit TransformerEncoderImpl(TransformerEncoderOptions options_);
  inline void reset() override;
  Tensor forward(const Tensor& src, const Tensor& src_mask = {}, const Tensor& src_key_padding_mask = {});
  TransformerEncoderOptions options;
  ModuleList layers{nullptr};
};
UNDERTOW_MODULE(TransformerEncoder);

class TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}
  explicit TransformerDecoderImpl(TransformerDecoderOptions options_);
  inline void reset() override;
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  TransformerDecoderOptions options;
  ModuleList layers{nullptr};
};
UNDERTOW_MODULE(TransformerDecoder);

struct TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers, int64_t num_decoder_layers)
      : d_model_(d_model),
        nhead_(nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}
  UNDERTOW_ARG(int64_t, d_model) = 512;
  UNDERTOW_ARG(int64_t, nhead) = 8;
  UNDERTOW_ARG(int64_t, num_encoder_layers) = 6;
  UNDERTOW_ARG(int64_t, num_decoder_layers) = 6;
  UNDERTOW_ARG(int64_t, dim_feedforward) = 2048;
  UNDERTOW_ARG(double, dropout) = 0.1;
  UNDERTOW_ARG(activation_t, activation) = kReLU;
  UNDERTOW_ARG(double, layer_norm_eps) = 1e-5;
  UNDERTOW_ARG(bool, batch_first) = false;
  UNDERTOW_ARG(bool, norm_first) = false;
};

// An encoder of a source and a decoder of a target that attends to it.
class TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(TransformerOptions options_ = {});
  inline void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {}, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& src_key_padding_mask = {},
                 const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {});
  // Minus infinity above the diagonal.
  static Tensor generate_square_subsequent_mask(int64_t size);
  TransformerOptions options;
  TransformerEncoder encoder{nullptr};
  TransformerDecoder decoder{nullptr};
};
UNDERTOW_MODULE(Transformer);

}  // namespace undertow::nn

#include <undertow/nn/transformer_inline.h>
