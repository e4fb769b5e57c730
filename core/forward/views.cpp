// views.cpp: forward functions of ops/shape.toml: new geometry on the same storage.
#include "core/forward/copy.h"
#include "core/tensor/layout.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

Tensor view(const Tensor& self, IntSpan size) {
  Dims sizes = infer_size(size, self.numel());
  if (self.is_contiguous() && self.numel()) return alias(self, sizes, contiguous_strides(sizes), self.storage_offset(), self.dtype());
  Dims strides;
  UT_CHECK(view_strides(self.sizes(), self.strides(), sizes, strides),
           "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous subspaces). Use "
           ".reshape(...) instead. The input has shape ", ShapeText{self.sizes()}, " and strides ", ShapeText{self.strides()}, "; the view was to be ", ShapeText{sizes});
  return alias(self, sizes, strides, self.storage_offset(), self.dtype());
}

Tensor as_strided(const Tensor& self, IntSpan size, IntSpan stride, std::optional<int64_t> storage_offset) {
  UT_CHECK(size.size() == stride.size(), "mismatch in length of strides and shape: ", ShapeText{size}, " and ", ShapeText{stride});
  for (int64_t s : stride) UT_CHECK(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ", ShapeText{stride});
  for (int64_t s : size) UT_CHECK(s >= 0, "Trying to create tensor with negative dimension ", s, ": ", ShapeText{size});
  int64_t offset = storage_offset.value_or(self.storage_offset());
  UT_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  int64_t need = storage_extent(size, stride);
  int64_t have = static_cast<int64_t>(self.storage().nbytes()) / self.itemsize();
  UT_CHECK(need == 0 || need + offset <= have, "setStorage: sizes ", ShapeText{size}, ", strides ", ShapeText{stride}, ", storage offset ", offset, ", and itemsize ",
           self.itemsize(), " requiring a storage size of ", (need + offset) * self.itemsize(), " are out of bounds for storage of size ", self.storage().nbytes());
  return alias(self, size, stride, offset, self.dtype());
}

Tensor expand(const Tensor& self, IntSpan size, bool) {
  int64_t n = static_cast<int64_t>(size.size()), have = self.dim();
  UT_CHECK(n >= have, "expand(undertow.", long_name(self.dtype()), "Tensor{", ShapeText{self.sizes()}, "}, size=", ShapeText{size}, "): the number of sizes provided (", n,
           ") must be greater or equal to the number of dimensions in the tensor (", have, ")");
  Dims sizes(size.begin(), size.end()), strides(static_cast<size_t>(n));
  for (int64_t d = n - 1; d >= 0; d--) {
    int64_t from = d - (n - have);
    int64_t now = from >= 0 ? self.size(from) : 1;
    if (sizes[static_cast<size_t>(d)] == -1) {
      UT_CHECK(from >= 0, "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", d);
      sizes[static_cast<size_t>(d)] = now;
    }
    int64_t want = sizes[static_cast<size_t>(d)];
    UT_CHECK(want >= 0, "expand: negative size ", want, " at dimension ", d);
    UT_CHECK(now == want || now == 1, "The expanded size of the tensor (", want, ") must match the existing size (", now, ") at non-singleton dimension ", d,
             ".  Target sizes: ", ShapeText{size}, ".  Tensor sizes: ", ShapeText{self.sizes()});
    strides[static_cast<size_t>(d)] = now == want && from >= 0 ? self.stride(from) : from < 0 || now == 1 ? (now == want && from >= 0 ? self.stride(from) : 0) : 0;
  }
  return alias(self, sizes, strides, self.storage_offset(), self.dtype());
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  UT_CHECK_INDEX(self.dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  UT_CHECK_INDEX(index >= -n && index < n, "select(): index ", index, " out of range for tensor of size ", ShapeText{self.sizes()}, " at dimension ", d);
  int64_t at = index < 0 ? index + n : index;
  Dims sizes(self.sizes()), strides(self.strides());
  int64_t offset = self.storage_offset() + at * strides[static_cast<size_t>(d)];
  sizes.erase(static_cast<size_t>(d));
  strides.erase(static_cast<size_t>(d));
  return alias(self, sizes, strides, offset, self.dtype());
}

Tensor detach(const Tensor& self) { return alias(self); }

Tensor view_as_real(const Tensor& self) {
  UT_CHECK(self.is_complex(), "view_as_real is only supported for complex tensors, got ", self.dtype());
  Dims sizes(self.sizes()), strides;
  for (int64_t s : self.strides()) strides.push_back(2 * s);
  sizes.push_back(2);
  strides.push_back(1);
  return alias(self, sizes, strides, 2 * self.storage_offset(), to_real(self.dtype()));
}

Tensor view_as_complex(const Tensor& self) {
  UT_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: ",
           long_name(self.dtype()));
  UT_CHECK(self.dim() > 0, "Input tensor must have one or more dimensions");
  UT_CHECK(self.size(-1) == 2, "Tensor must have a last dimension of size 2, got shape ", ShapeText{self.sizes()});
  UT_CHECK(self.stride(-1) == 1, "Tensor must have a last dimension with stride 1");
  UT_CHECK(self.storage_offset() % 2 == 0, "Tensor must have a storage_offset divisible by 2");
  Dims sizes(self.sizes()), strides;
  sizes.pop_back();
  for (int64_t d = 0; d + 1 < self.dim(); d++) {
    UT_CHECK(self.stride(d) % 2 == 0, "Tensor must have a stride divisible by 2 for all but last dimension");
    strides.push_back(self.stride(d) / 2);
  }
  return alias(self, sizes, strides, self.storage_offset() / 2, to_complex(self.dtype()));
}

}  // namespace undertow::fwd
