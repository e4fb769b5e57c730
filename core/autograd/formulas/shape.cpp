// shape.cpp: derivatives and compositions of views.
#include "core/autograd/formulas/formulas.h"
#include "core/forward/copy.h"
#include "core/tensor/layout.h"

namespace undertow::ops {

Tensor reshape_composite(const Tensor& self, IntSpan shape) {
  Dims sizes = infer_size(shape, self.numel()), strides;
  if (view_strides(self.sizes(), self.strides(), sizes, strides)) return view(self, sizes);
  return view(clone(self, MemoryFormat::Contiguous), sizes);
}

Tensor real_composite(const Tensor& self) {
  if (!self.is_complex()) return self;
  return select(view_as_real(self), -1, 0);
}

Tensor view_as_complex_of(const Tensor& grad) { return view_as_complex(grad.is_contiguous() ? grad : clone(grad, MemoryFormat::Contiguous)); }

Tensor copy_tangent(const Tensor& self, const Tensor& src_t) {
  if (!src_t.defined()) return fwd::zeros(self.sizes(), self.dtype());
  return copy(self, src_t, false);
}

Tensor select_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t index) {
  Tensor out = fwd::zeros(sizes, grad.dtype());
  copy_(select(out, dim, index), grad, false);
  return out;
}

// The reverse of a gather with possibly repeated addresses: scatter-add into flat memory, then read the input's own
// geometry; an address that the input itself repeats divides its share.
Tensor as_strided_backward(const Tensor& grad, IntSpan sizes, IntSpan strides, int64_t offset, IntSpan size, IntSpan stride,
                           std::optional<int64_t> storage_offset) {
  int64_t from = storage_offset.value_or(offset), base = std::min(offset, from);
  int64_t extent = std::max(storage_extent(sizes, strides) + offset - base, storage_extent(size, stride) + from - base);
  Tensor flat = fwd::zeros(IntSpan(&extent, 1), grad.dtype());
  copy_(as_strided(flat, size, stride, from - base), grad, false);
  return as_strided(flat, sizes, strides, offset - base);
}

}  // namespace undertow::ops
