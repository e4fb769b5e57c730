// attention.h: kernels for scaled dot-product attention that never store the full score matrix.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

struct AttentionShape {
  int64_t batch, heads, queries, keys, width, values;
  int64_t group;  // query heads that share a key head
  bool causal;
  double scale;
};

// Queries, keys and values are (batch, heads, length, width) in any layout, float32 or float64. The mask is undefined,
// or is added to the scores and expanded to (batch, heads, queries, keys).
struct AttentionKernels {
  // Half dtypes are passed as they are; otherwise the caller converts them to float32. The mask, lse and sums are
  // float32 then.
  bool takes_half = false;
  // Writes out, in any layout, and lse, the log-sum-exp of each row of scores, row-major.
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

}  // namespace undertow::core
