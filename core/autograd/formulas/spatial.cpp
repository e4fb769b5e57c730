// spatial.cpp: derivatives and compositions of operators on images, and of Fourier transforms.
// build: small
#include "core/autograd/formulas/formulas.h"
#include "core/forward/copy/copy.h"
#include "generated/fwd_shape.h"

namespace undertow::core::ops {

Dims negated(IntSpan values) {
  Dims out;
  for (int64_t v : values) out.push_back(-v);
  return out;
}

Tensor avg_pool_backward(const Tensor& grad, const Tensor& self, IntSpan kernel, IntSpan stride, IntSpan padding,
                         bool count_include_pad, std::optional<int64_t> divisor) {
  Tensor spread = _avg_unpool(grad, self.sizes(), kernel, stride, padding, count_include_pad, divisor);
  return flat_in(kernel.size() == 2 ? in_image_format(spread, self.strides(), 4) : spread, self);
}

Tensor avg_unpool_grad(const Tensor& grad, IntSpan sizes, IntSpan kernel, IntSpan stride, IntSpan padding,
                       bool count_include_pad, std::optional<int64_t> divisor) {
  // The number of windows tells whether ceil_mode was set.
  IntSpan steps = stride.empty() ? kernel : stride;
  bool ceil_mode = false;
  for (size_t d = 0, lead = sizes.size() - kernel.size(); d < kernel.size(); d++) {
    int64_t last = grad.size(static_cast<int64_t>(lead + d)) + 2 * padding[d] - kernel[d];  // where a window may start
    ceil_mode |= last < 0 || last / steps[d] + 1 != sizes[lead + d];
  }
  return kernel.size() == 2 ? avg_pool2d(grad, kernel, stride, padding, ceil_mode, count_include_pad, divisor)
                            : avg_pool3d(grad, kernel, stride, padding, ceil_mode, count_include_pad, divisor);
}

Tensor adaptive_avg_unpool_backward(const Tensor& grad, IntSpan sizes, int64_t spatial) {
  IntSpan windows = sizes.subspan(sizes.size() - static_cast<size_t>(spatial));
  return spatial == 2 ? _adaptive_avg_pool2d(grad, windows) : _adaptive_avg_pool3d(grad, windows);
}

Tensor max_pool_grad(const Tensor& grad, const Tensor& indices, const Tensor& self, int64_t spatial) {
  Tensor placed = _max_pool_scatter(grad, indices, self.sizes(), spatial);
  return flat_in(in_image_format(placed, self.strides(), spatial + 2), self);
}

Tensor resample_double_backward(const Tensor& grad, IntSpan sizes, std::string_view kind, bool align_corners,
                                std::optional<double> d, std::optional<double> h, std::optional<double> w) {
  return _resample(grad, sizes.subspan(2), kind, align_corners, d, h, w);
}

// y = F x with x real: grad x = Re(F^H grad y). The omitted half of y has no gradient of its own.
Tensor fft_r2c_backward(const Tensor& grad, IntSpan dim, int64_t normalization, bool onesided, IntSpan sizes) {
  if (!onesided) return real(_fft_c2c(grad, dim, normalization, false));
  int64_t last = dim.back() < 0 ? dim.back() + grad.dim() : dim.back();
  Dims pad(static_cast<size_t>(2 * (grad.dim() - last)), 0);
  pad.back() = sizes[static_cast<size_t>(last)] - grad.size(last);
  return real(_fft_c2c(constant_pad_nd(grad, pad, Scalar(0)), dim, normalization, false));
}

// Each element of the given half also represents its conjugate in the other half, except the ends, which have none.
Tensor fft_c2r_backward(const Tensor& grad, IntSpan dim, int64_t normalization) {
  Tensor half = _fft_r2c(grad, dim, normalization, true);
  int64_t last = dim.back() < 0 ? dim.back() + grad.dim() : dim.back(), twice = grad.size(last) - half.size(last);
  if (twice <= 0) return half;
  Tensor ends = fwd::full_on_device_of(grad, Dims{half.size(last)}, Scalar(1), grad.dtype());
  fwd::fill_into(fwd::slice(ends, 0, 1, 1 + twice, 1), Scalar(2));
  Dims shape(static_cast<size_t>(grad.dim()), 1);
  shape[static_cast<size_t>(last)] = half.size(last);
  return half * fwd::view(ends, shape);
}

}  // namespace undertow::core::ops
