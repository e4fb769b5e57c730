// softmax.h: kernels that normalise along one dimension.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

// A row-major tensor viewed as `outer` blocks of n rows and `inner` columns; each column is normalised.
struct SoftmaxBlock {
  int64_t outer = 1, n = 1, inner = 1;
};

struct SoftmaxKernels {
  // All tensors are row-major and not empty. out has in's dtype: float, double, or a half dtype if inner is 1.
  // out = softmax or log-softmax.
  Kernel<"softmax", void(const Tensor& out, const Tensor& in, const SoftmaxBlock& block, bool log)> softmax;
  // grad_in from the gradient of the result and the result, with the dtypes above.
  Kernel<"softmax backward",
         void(const Tensor& grad_in, const Tensor& grad, const Tensor& result, const SoftmaxBlock& block, bool log)>
      softmax_backward;
  // out = log(sum(exp(in))), for float and double; out has one element per column.
  Kernel<"logsumexp", void(const Tensor& out, const Tensor& in, const SoftmaxBlock& block)> logsumexp;
};

}  // namespace undertow::core
