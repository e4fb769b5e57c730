// scatter_views.cpp: copies with one view replaced: select_scatter, slice_scatter, diagonal_scatter,
// as_strided_scatter.
// build: small
#include <algorithm>
#include <numeric>

#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"
#include "generated/fwd.h"

namespace undertow::core::fwd {

namespace {
// True if no two elements can share memory: each stride spans all dimensions with smaller strides.
bool is_separate(const Tensor& t) {
  Dims order(static_cast<size_t>(t.dim()));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return t.stride(a) < t.stride(b); });
  int64_t extent = 1;
  for (int64_t d : order) {
    if (t.size(d) < 2) continue;
    if (t.stride(d) < extent) return false;
    extent = t.stride(d) * (t.size(d) - 1) + extent;
  }
  return true;
}
// A copy with the strides and the offset of self, gaps included, as torch's; dense if elements share memory.
Tensor copy_with_strides(const Tensor& self) {
  if (!is_separate(self)) return clone_preserve(self);
  int64_t n = static_cast<int64_t>(self.storage().nbytes()) / self.itemsize();
  Tensor memory = contiguous_copy(as_strided(self, IntSpan(&n, 1), Dims{1}, 0));
  return as_strided(memory, self.sizes(), self.strides(), self.storage_offset());
}
Tensor replaced(const Tensor& out, const Tensor& part, const Tensor& src) {
  UT_CHECK(same(part.sizes(), src.sizes()),
           "expected src to have a size equal to the slice of self. src size = ", ShapeText{src.sizes()},
           ", slice size = ", ShapeText{part.sizes()});
  copy_into(part, src);
  return out;
}
}  // namespace

Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  Tensor out = copy_with_strides(self);
  return replaced(out, select(out, dim, index), src);
}
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntSpan size, IntSpan stride,
                          std::optional<int64_t> storage_offset) {
  // Positions are those in self's storage, as for as_strided.
  Tensor out = has_internal_overlap(self.sizes(), self.strides()) ? contiguous_copy(self) : copy_with_strides(self);
  return replaced(out, as_strided(out, size, stride, storage_offset), src);
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  Tensor out = copy_with_strides(self);
  return replaced(out, slice(out, dim, start, end, step), src);
}
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor out = copy_with_strides(self);
  return replaced(out, diagonal(out, offset, dim1, dim2), src);
}

}  // namespace undertow::core::fwd
