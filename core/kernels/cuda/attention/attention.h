// attention.h: the CUDA backend's attention kernels.
#pragma once
#include "core/kernels/attention.h"

namespace undertow::core::cuda {

extern const AttentionKernels attention_kernels;

struct AttentionInputs {
  const Tensor &query, &key, &value, &mask;
  const AttentionShape& shape;
};
struct AttentionGrads {
  const Tensor &query, &key, &value;
};

// By cuDNN: half dtypes without a mask. Return false for what it does not support, or if it is not installed.
bool library_forward(const Tensor& out, const Tensor& lse, const AttentionInputs& in);
bool library_backward(const AttentionGrads& to, const Tensor& grad, const AttentionInputs& in, const Tensor& out,
                      const Tensor& lse);

// By tiles of scores that stay in registers, on tensor cores: half dtypes. Return false for what they do not support.
bool flash_forward(const Tensor& out, const Tensor& lse, const AttentionInputs& in);
bool flash_backward(const AttentionGrads& to, const Tensor& grad, const AttentionInputs& in, const Tensor& out,
                    const Tensor& lse);

// Can rows of a half dtype be read 16 bytes at a time?
bool has_aligned_rows(const Tensor& t);
// The tensor, or a copy of which that is true.
Tensor with_aligned_rows(const Tensor& t);

// delta (batch, heads, queries) = the sum of out * grad over each row.
void dot_rows(const Tensor& delta, const Tensor& out, const Tensor& grad);

}  // namespace undertow::core::cuda
