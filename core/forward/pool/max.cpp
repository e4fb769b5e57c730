// max.cpp: forward functions of ops/pool.toml that select the largest element of each window, and their transposes.
// build: small
#include "core/forward/pool/windows.h"
#include "core/kernels/backend.h"
#include "generated/fwd_pool.h"

namespace undertow::core::fwd {

namespace {

using Pair = std::tuple<Tensor, Tensor>;

void check_ordered(const Tensor& self, const char* name) {
  if (self.is_complex() || self.dtype() == DType::Bool) throw_not_implemented(name, self.dtype());
}

// `batch`: the dimensions of a batch whose memory format the result has; 0 if it is always row-major.
Pair max_pooled(const Tensor& self, const Pooling& p, int64_t batch, const char* name) {
  DType t = self.dtype();
  check_ordered(self, name);
  Tensor out = empty_on_device_of(self, p.sizes, t), index = empty_on_device_of(self, p.sizes, DType::Int64);
  backend_of(self).pool->largest(out, index, contiguous(self), p);
  return {in_format_of(out, self, batch), in_format_of(index, self, batch)};
}

void check_floating(const Tensor& self, const char* name) {
  if (!is_floating(self.dtype())) throw_not_implemented(name, self.dtype());
}
void check_channels(const Tensor& self, int64_t spatial, const char* name) {
  int64_t d = self.dim() - spatial - 1;
  UT_CHECK(d < 1 || self.size(d) > 0, name,
           "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
           ShapeText{self.sizes()}, " with dimension ", d, " being empty");
}

Pair fractional(const Tensor& self, IntSpan kernel, IntSpan output, const Tensor& samples, int64_t spatial,
                const char* name) {
  UT_CHECK(static_cast<int64_t>(kernel.size()) == spatial && static_cast<int64_t>(output.size()) == spatial, name,
           ": kernel_size and output_size must be ", spatial, " ints");
  UT_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, name, "(): Expected ", spatial + 1, "D or ",
           spatial + 2, "D tensor, but got: ", ShapeText{self.sizes()});
  check_channels(self, spatial, name);
  check_floating(self, name);
  UT_CHECK(samples.dtype() == self.dtype(), name, ": Expect _random_samples to have the same dtype as input; got ",
           long_name(samples.dtype()), " and ", long_name(self.dtype()));
  Pooling p;
  for (int64_t d = 0; d < spatial; d++) {
    int64_t in = self.size(self.dim() - spatial + d), k = kernel[static_cast<size_t>(d)],
            o = output[static_cast<size_t>(d)];
    UT_CHECK(k > 0 && o >= 0 && k <= in && o <= in - k + 1, name, "(): pool ",
             spatial - d == 1   ? "width "
             : spatial - d == 2 ? "height "
                                : "time ",
             k, " too large relative to input ",
             spatial - d == 1   ? "width "
             : spatial - d == 2 ? "height "
                                : "time ",
             in);
    fractional_starts<double>(p.axis[3 - spatial + d], 0, k, in, o);
  }
  finish_pooling(p, self.sizes(), spatial);
  UT_CHECK(samples.numel() == p.planes * spatial, name, ": Expect _random_samples of ", p.planes, " planes by ",
           spatial, " numbers; got shape ", ShapeText{samples.sizes()});
  Tensor out = empty_on_device_of(self, p.sizes, self.dtype()), index = empty_on_device_of(self, p.sizes, DType::Int64);
  backend_of(self).pool->fractional_largest(out, index, contiguous(self), contiguous(samples), p, kernel);
  return {out, index};
}

IndexGrid index_grid_of(IntSpan pooled, IntSpan full, int64_t spatial) {
  UT_CHECK(pooled.size() == full.size() && static_cast<int64_t>(full.size()) >= spatial, "pooling: shapes ",
           ShapeText{pooled}, " and ", ShapeText{full}, " are not compatible");
  size_t lead = full.size() - static_cast<size_t>(spatial);
  UT_CHECK(same(pooled.subspan(0, lead), full.subspan(0, lead)), "pooling: shapes ", ShapeText{pooled}, " and ",
           ShapeText{full}, " do not have the same planes");
  return {product(full.subspan(0, lead)), product(pooled.subspan(lead)), product(full.subspan(lead)),
          Dims(full.subspan(lead))};
}

Tensor unpooled(const Tensor& self, const Tensor& indices, IntSpan output_size, int64_t spatial) {
  UT_CHECK(indices.dtype() == DType::Int64,
           "elements in indices should be type int64 but got: ", long_name(indices.dtype()));
  UT_CHECK(static_cast<int64_t>(output_size.size()) == spatial, "There should be exactly ", spatial,
           " elements in output_size, but got ", output_size.size(), " elements.");
  UT_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, "Input to max_unpooling", spatial, "d should be a ",
           spatial + 1, "d or ", spatial + 2, "d Tensor, but got a tensor with ", self.dim(), " dimensions.");
  UT_CHECK(same(self.sizes(), indices.sizes()), "Expected shape of indices to be same as that of the input tensor (",
           ShapeText{self.sizes()}, ") but got indices tensor with shape: ", ShapeText{indices.sizes()});
  Dims sizes(self.sizes());
  for (int64_t d = 0; d < spatial; d++)
    sizes[static_cast<size_t>(self.dim() - spatial + d)] = output_size[static_cast<size_t>(d)];
  for (int64_t d = 1; d < self.dim(); d++)
    UT_CHECK(self.size(d) > 0, "max_unpooling", spatial,
             "d(): Expected input to have non-zero size for non-batch dimensions, but got ", ShapeText{self.sizes()},
             " with dimension ", d, " being empty.");
  IndexGrid g = index_grid_of(self.sizes(), sizes, spatial);
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  backend_of(self).pool->scatter(out, contiguous(self), contiguous(indices), g);
  return spatial == 2 ? in_format_of(out, self, 4) : out;
}

}  // namespace

Pair max_pool2d_with_indices(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, IntSpan dilation,
                             bool ceil_mode) {
  return max_pooled(self, kernel_windows(self, 2, kernel_size, stride, padding, dilation, ceil_mode, "max_pool2d"), 4,
                    "max_pool2d");
}
Tensor _max_pool2d(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, IntSpan dilation,
                   bool ceil_mode) {
  Pooling p = kernel_windows(self, 2, kernel_size, stride, padding, dilation, ceil_mode, "max_pool2d");
  check_ordered(self, "max_pool2d");
  Tensor out = empty_on_device_of(self, p.sizes, self.dtype());
  backend_of(self).pool->largest(out, Tensor(), contiguous(self), p);
  return in_format_of(out, self, 4);
}
Pair max_pool3d_with_indices(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, IntSpan dilation,
                             bool ceil_mode) {
  return max_pooled(self, kernel_windows(self, 3, kernel_size, stride, padding, dilation, ceil_mode, "max_pool3d"), 5,
                    "max_pool3d");
}
Pair adaptive_max_pool2d(const Tensor& self, IntSpan output_size) {
  Pooling p = adaptive_windows(self.sizes(), 2, output_size, "adaptive_max_pool2d");
  check_channels(self, 2, "adaptive_max_pool2d");
  check_floating(self, "adaptive_max_pool2d");
  return max_pooled(self, p, 4, "adaptive_max_pool2d");
}
Pair adaptive_max_pool3d(const Tensor& self, IntSpan output_size) {
  Pooling p = adaptive_windows(self.sizes(), 3, output_size, "adaptive_max_pool3d");
  check_channels(self, 3, "adaptive_max_pool3d");
  check_floating(self, "adaptive_max_pool3d_cpu");
  return max_pooled(self, p, 0, "adaptive_max_pool3d");
}
Pair fractional_max_pool2d(const Tensor& self, IntSpan kernel_size, IntSpan output_size, const Tensor& random_samples) {
  return fractional(self, kernel_size, output_size, random_samples, 2, "fractional_max_pool2d");
}
Pair fractional_max_pool3d(const Tensor& self, IntSpan kernel_size, IntSpan output_size, const Tensor& random_samples) {
  return fractional(self, kernel_size, output_size, random_samples, 3, "fractional_max_pool3d");
}
Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntSpan output_size) {
  return unpooled(self, indices, output_size, 2);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntSpan output_size) {
  return unpooled(self, indices, output_size, 3);
}

Tensor _max_pool_gather(const Tensor& self, const Tensor& indices, int64_t spatial) {
  IndexGrid g = index_grid_of(indices.sizes(), self.sizes(), spatial);
  Tensor out = empty_on_device_of(self, indices.sizes(), self.dtype());
  backend_of(self).pool->gather(out, contiguous(self), contiguous(indices), g);
  return out;
}

Tensor _max_pool_scatter(const Tensor& grad_output, const Tensor& indices, IntSpan sizes, int64_t spatial) {
  IndexGrid g = index_grid_of(indices.sizes(), sizes, spatial);
  UT_CHECK(same(grad_output.sizes(), indices.sizes()), "pooling: gradient of shape ", ShapeText{grad_output.sizes()},
           " for indices of shape ", ShapeText{indices.sizes()});
  check_floating(grad_output, "max_pool_backward");
  Tensor out = empty_on_device_of(grad_output, sizes, grad_output.dtype());
  backend_of(grad_output).pool->add_at(out, contiguous(grad_output), contiguous(indices), g);
  return out;
}

}  // namespace undertow::core::fwd
