// transformer.h: options of attention and of transformer layers.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include <undertow/tensor.h>
#include <undertow/types/arg.h>
#include <undertow/types/enum.h>

namespace undertow::nn {

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  UNDERTOW_ARG(int64_t, embed_dim);
  UNDERTOW_ARG(int64_t, num_heads);
  UNDERTOW_ARG(double, dropout) = 0.0;
  UNDERTOW_ARG(bool, bias) = true;
  UNDERTOW_ARG(bool, add_bias_kv) = false;
  UNDERTOW_ARG(bool, add_zero_attn) = false;
  UNDERTOW_ARG(int64_t, kdim);
  UNDERTOW_ARG(int64_t, vdim);
  UNDERTOW_ARG(bool, batch_first) = false;
};

using activation_t = std::variant<enumtype::kReLU, enumtype::kGELU, std::function<Tensor(const Tensor&)>>;

struct TransformerEncoderLayerOptions {
  TransformerEncoderLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  UNDERTOW_ARG(int64_t, d_model);
  UNDERTOW_ARG(int64_t, nhead);
  UNDERTOW_ARG(int64_t, dim_feedforward) = 2048;
  UNDERTOW_ARG(double, dropout) = 0.1;
  UNDERTOW_ARG(activation_t, activation) = kReLU;
  UNDERTOW_ARG(double, layer_norm_eps) = 1e-5;
  UNDERTOW_ARG(bool, batch_first) = false;
  UNDERTOW_ARG(bool, norm_first) = false;
};
using TransformerDecoderLayerOptions = TransformerEncoderLayerOptions;

namespace functional {
struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight,
                                       Tensor in_proj_bias, Tensor bias_k, Tensor bias_v, bool add_zero_attn,
                                       double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias)
      : embed_dim_to_check_(embed_dim_to_check),
        num_heads_(num_heads),
        in_proj_weight_(std::move(in_proj_weight)),
        in_proj_bias_(std::move(in_proj_bias)),
        bias_k_(std::move(bias_k)),
        bias_v_(std::move(bias_v)),
        add_zero_attn_(add_zero_attn),
        dropout_p_(dropout_p),
        out_proj_weight_(std::move(out_proj_weight)),
        out_proj_bias_(std::move(out_proj_bias)) {}
  UNDERTOW_ARG(int64_t, embed_dim_to_check);
  UNDERTOW_ARG(int64_t, num_heads);
  UNDERTOW_ARG(Tensor, in_proj_weight);
  UNDERTOW_ARG(Tensor, in_proj_bias);
  UNDERTOW_ARG(Tensor, bias_k);
  UNDERTOW_ARG(Tensor, bias_v);
  UNDERTOW_ARG(bool, add_zero_attn);
  UNDERTOW_ARG(double, dropout_p);
  UNDERTOW_ARG(Tensor, out_proj_weight);
  UNDERTOW_ARG(Tensor, out_proj_bias);
  UNDERTOW_ARG(bool, training) = true;
  UNDERTOW_ARG(Tensor, key_padding_mask);
  UNDERTOW_ARG(bool, need_weights) = true;
  UNDERTOW_ARG(Tensor, attn_mask);
  UNDERTOW_ARG(bool, use_separate_proj_weight) = false;
  UNDERTOW_ARG(Tensor, q_proj_weight);
  UNDERTOW_ARG(Tensor, k_proj_weight);
  UNDERTOW_ARG(Tensor, v_proj_weight);
  UNDERTOW_ARG(Tensor, static_k);
  UNDERTOW_ARG(Tensor, static_v);
  UNDERTOW_ARG(bool, average_attn_weights) = true;
  UNDERTOW_ARG(bool, is_causal) = false;
};
}  // namespace functional
}  // namespace undertow::nn
