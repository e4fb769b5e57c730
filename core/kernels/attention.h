// attention.h: kernels of scaled dot-product attention that never hold the whole matrix of scores.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

struct AttentionShape {
  int64_t batch, heads, queries, keys, width, values;
  int64_t group;  // query heads that share a key head
  bool causal;
  double scale;
};

// Queries, keys and values are (batch, heads, length, width) in any layout, float32 or float64. The mask is undefined,
// or numbers to add to the scores, expanded to (batch, heads, queries, keys).
struct AttentionKernels {
  // out and lse, the logarithm of each row's sum of exponentials (row-major).
  Kernel<"scaled_dot_product_attention",
         void(const Tensor& out, const Tensor& lse, const Tensor& query, const Tensor& key, const Tensor& value,
              const Tensor& mask, const AttentionShape& shape)>
      forward;
  Kernel<"scaled_dot_product_attention_backward",
         void(const Tensor& grad_query, const Tensor& grad_key, const Tensor& grad_value, const Tensor& grad,
              const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& out, const Tensor& lse,
              const Tensor& mask, const AttentionShape& shape)>
      backward;
};

}  // namespace undertow
