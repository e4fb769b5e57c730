// softmax.h: kernels that normalise along one dimension.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

// A row-major tensor as `outer` blocks of n rows of `inner` columns, each column to be normalised.
struct SoftmaxBlock {
  int64_t outer = 1, n = 1, inner = 1;
};

struct SoftmaxKernels {
  // All tensors are row-major and have elements. out is of in's dtype: float, double, or a half type where inner is 1.
  // out = softmax or its logarithm.
  Kernel<"softmax", void(const Tensor& out, const Tensor& in, const SoftmaxBlock& block, bool log)> softmax;
  // grad_in from the gradient of the result and the result, all of one dtype as above.
  Kernel<"softmax backward",
         void(const Tensor& grad_in, const Tensor& grad, const Tensor& result, const SoftmaxBlock& block, bool log)>
      softmax_backward;
  // out = log(sum(exp(in))), for float and double; out has one element for each column.
  Kernel<"logsumexp", void(const Tensor& out, const Tensor& in, const SoftmaxBlock& block)> logsumexp;
};

}  // namespace undertow
