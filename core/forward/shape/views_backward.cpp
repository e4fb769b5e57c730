// views_backward.cpp: the transposes of views: writes a gradient into zeros of the input's shape. Results have their
// own memory.
// build: small
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/shape.h"
#include "core/tensor/layout.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

Tensor select_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t index) {
  Tensor out = zeros_on_device_of(grad, sizes, grad.dtype());
  copy_into(select(out, dim, index), grad);
  return out;
}
Tensor slice_backward(const Tensor& grad, IntSpan sizes, int64_t dim, std::optional<int64_t> start,
                      std::optional<int64_t> end, int64_t step) {
  Tensor out = zeros_on_device_of(grad, sizes, grad.dtype());
  copy_into(slice(out, dim, start, end, step), grad);
  return out;
}
Tensor diagonal_backward(const Tensor& grad, IntSpan sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor out = zeros_on_device_of(grad, sizes, grad.dtype());
  copy_into(diagonal(out, offset, dim1, dim2), grad);
  return out;
}
Tensor diagonal_copy(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  return contiguous_copy(diagonal(self, offset, dim1, dim2));
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t n = self.dim() + 1;  // for a zero-dimensional tensor wrap_dim or the next check raises
  int64_t a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
  UT_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t width;
  UT_CHECK(offset != INT64_MIN && !__builtin_add_overflow(self.size(-1), std::abs(offset), &width),
           "diag_embed: integer overflow: offset ", offset);
  Dims sizes(self.sizes());
  sizes.pop_back();
  sizes.insert(static_cast<size_t>(std::min(a, b)), width);
  sizes.insert(static_cast<size_t>(std::max(a, b)), width);
  Tensor out = zeros_on_device_of(self, sizes, self.dtype());
  copy_into(diagonal(out, offset, a, b), self);
  return out;
}

// Offsets may repeat: repeated ones are summed.
Tensor _strided_sum(const Tensor& self, IntSpan size, IntSpan stride, int64_t offset, int64_t extent) {
  Tensor out = zeros_on_device_of(self, IntSpan(&extent, 1), self.dtype()), in = expand(self, size, false);
  if (in.numel() == 0) return out;
  if (is_non_overlapping_and_dense(size, stride))
    copy_into(as_strided(out, size, stride, offset), in);
  else
    backend_of(self).shape->strided_sum(out, in, stride, offset);
  return out;
}

}  // namespace undertow::core::fwd
