// scan.h: derivatives and compositions of scans, sorts and selections along one dimension.
// Each function is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor reversed_cumsum(const Tensor& t, int64_t dim);
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor cumprod_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result, int64_t dim);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor logcumsumexp_jvp(const Tensor& self_t, const Tensor& self, int64_t dim);
// gather_at returns the elements at indices along dim; scatter_to adds grad at indices into zeros of `sizes`. Both
// accept zero-dimensional tensors.
Tensor gather_at(const Tensor& t, int64_t dim, const Tensor& indices);
Tensor scatter_to(const Tensor& grad, IntSpan sizes, const Tensor& indices, int64_t dim);
Tensor cumextremum_backward(const Tensor& grad, IntSpan sizes, const Tensor& indices, int64_t dim);

Tensor diff_composite(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append);
Tensor trapezoid_composite(const Tensor& y, const Tensor& x, int64_t dim);
Tensor trapezoid_composite(const Tensor& y, const Scalar& dx, int64_t dim);
Tensor cumulative_trapezoid_composite(const Tensor& y, const Tensor& x, int64_t dim);
Tensor cumulative_trapezoid_composite(const Tensor& y, const Scalar& dx, int64_t dim);

}  // namespace undertow::core::ops
