// spatial.h: derivatives and compositions of operators on images (padding, pooling, interpolation) and of Fourier
// transforms. Each function is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Dims negated(IntSpan values);

Tensor avg_pool_backward(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                         bool count_include_pad, std::optional<int64_t> divisor);
// The derivative of _avg_unpool with respect to its gradient: averages over the same windows, as many as in `sizes`.
Tensor avg_unpool_grad(const Tensor& grad, IntSpan sizes, IntSpan kernel, IntSpan stride, IntSpan padding,
                       bool count_include_pad, std::optional<int64_t> divisor);
// The same for _adaptive_avg_unpool.
Tensor adaptive_avg_unpool_backward(const Tensor& grad, IntSpan sizes, int64_t spatial);

// Of max_pool2d, adaptive_max_pool2d and max_pool3d.
Tensor max_pool_grad(const Tensor& grad, const Tensor& indices, const Tensor& self, int64_t spatial);
// The derivative of _resample_backward with respect to its gradient: _resample to the last of `sizes`.
Tensor resample_double_backward(const Tensor& grad, IntSpan sizes, std::string_view kind, bool align_corners,
                                std::optional<double> d, std::optional<double> h, std::optional<double> w);

Tensor fft_r2c_backward(const Tensor& grad, IntSpan dim, int64_t normalization, bool onesided, IntSpan sizes);
Tensor fft_c2r_backward(const Tensor& grad, IntSpan dim, int64_t normalization);

}  // namespace undertow::core::ops
