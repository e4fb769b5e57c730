// average.cpp: forward functions of ops/pool.toml that average windows, and their transposes.
// build: small
#include "core/forward/pool/windows.h"
#include "core/kernels/backend.h"
#include "generated/fwd_pool.h"

namespace undertow::core::fwd {

namespace {

Tensor averaged(const Tensor& self, const Pooling& p, int64_t spatial, const AverageBy& by) {
  Tensor out = empty_on_device_of(self, p.sizes, self.dtype());
  if (out.numel() == 0) return out;
  backend_of(self).pool->average(out, contiguous(self), p, by);
  return spatial == 2 ? in_format_of(out, self, 4) : out;
}

Tensor spread(const Tensor& grad_output, IntSpan sizes, const Pooling& p, const AverageBy& by) {
  UT_CHECK(grad_output.numel() == p.planes * p.out_plane, "pooling: gradient of shape ", ShapeText{grad_output.sizes()},
           " for an image of shape ", ShapeText{sizes});
  if (!grad_output.is_floating()) throw_not_implemented("avg_pool_backward", grad_output.dtype());
  Tensor out = empty_on_device_of(grad_output, sizes, grad_output.dtype());
  backend_of(grad_output).pool->average_backward(out, contiguous(grad_output), p, by);
  return out;
}

Tensor avg_pooled(const Tensor& self, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding, bool ceil_mode,
                  bool include, std::optional<int64_t> divisor, const char* name) {
  int64_t one = 1;
  Pooling p = kernel_windows(self, spatial, kernel, stride, padding, IntSpan(&one, 1), ceil_mode, name);
  UT_CHECK(!divisor || *divisor != 0, "divisor must be not zero");
  if (!self.is_floating() && self.dtype() != DType::Int64) throw_not_implemented(name, self.dtype());
  return averaged(self, p, spatial, {include, divisor});
}

Tensor adaptive(const Tensor& self, int64_t spatial, IntSpan output_size, const char* name) {
  Pooling p = adaptive_windows(self.sizes(), spatial, output_size,
                               spatial == 2 ? "adaptive_avg_pool2d" : "adaptive_avg_pool3d");
  if (!self.is_floating()) throw_not_implemented(name, self.dtype());
  return averaged(self, p, spatial, {false, std::nullopt});
}

}  // namespace

Tensor avg_pool2d(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
  return avg_pooled(self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                    "avg_pool2d");
}
Tensor avg_pool3d(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, bool ceil_mode,
                  bool count_include_pad, std::optional<int64_t> divisor_override) {
  return avg_pooled(self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override,
                    "avg_pool3d");
}
Tensor _avg_unpool(const Tensor& grad_output, IntSpan sizes, IntSpan kernel_size, IntSpan stride, IntSpan padding,
                   bool count_include_pad, std::optional<int64_t> divisor_override) {
  UT_CHECK(grad_output.dim() == static_cast<int64_t>(sizes.size()), "pooling: gradient of shape ",
           ShapeText{grad_output.sizes()}, " for an image of shape ", ShapeText{sizes});
  Pooling p =
      known_windows(sizes, grad_output.sizes(), static_cast<int64_t>(kernel_size.size()), kernel_size, stride, padding);
  return spread(grad_output, sizes, p, {count_include_pad, divisor_override});
}

Tensor _adaptive_avg_pool2d(const Tensor& self, IntSpan output_size) {
  return adaptive(self, 2, output_size, "adaptive_avg_pool2d");
}
Tensor _adaptive_avg_pool3d(const Tensor& self, IntSpan output_size) {
  return adaptive(self, 3, output_size, "adaptive_avg_pool3d_cpu");
}
Tensor _adaptive_avg_unpool(const Tensor& grad_output, IntSpan sizes, int64_t spatial) {
  Pooling p = adaptive_windows(sizes, spatial,
                               grad_output.sizes().subspan(grad_output.sizes().size() - static_cast<size_t>(spatial)),
                               "adaptive_avg_pool");
  return spread(grad_output, sizes, p, {false, std::nullopt});
}

}  // namespace undertow::core::fwd
