// attention.h: multi-head attention as a module.
#pragma once
#include <tuple>

#include <undertow/nn/any_module.h>
#include <undertow/nn/layers.h>
#include <undertow/nn/options/transformer.h>

namespace undertow::nn {

namespace detail {
// A boolean mask as numbers to add: minus infinity where it is true. `name` is the mask's in the error.
Tensor float_mask(const Tensor& mask, const char* name, ScalarType dtype);
}  // namespace detail

// softmax(q k^T / sqrt(d)) v of projected queries, keys and values, followed by an output projection. The sequence is
// dimension 0, or 1 with batch_first.
class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options_);
  // The output, and the weights: their mean over the heads, those of each head, or undefined.
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true,
                                     bool is_causal = false);
  void reset() override;
  void _reset_parameters();

  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim = true;
  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj{nullptr};
  Tensor bias_k, bias_v, q_proj_weight, k_proj_weight, v_proj_weight;
  int64_t head_dim = 0;

 protected:
  std::string describe() const override;
};
UNDERTOW_MODULE(MultiheadAttention);

}  // namespace undertow::nn
