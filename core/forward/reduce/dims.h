// dims.h: the dimensions of reductions, scans and sorts: masks, checks, and dropping a dimension.
#pragma once
#include "core/forward/forward_types.h"
#include "core/tensor/layout.h"

namespace undertow::core::fwd {

inline uint64_t all_dims(const Tensor& t) { return t.dim() >= 64 ? ~uint64_t{0} : (uint64_t{1} << t.dim()) - 1; }
// None and an empty list mean all dims.
inline uint64_t mask_of(const std::optional<IntSpan>& dim, const Tensor& t) {
  return dim_mask(dim.value_or(IntSpan()), t.dim()) & all_dims(t);
}
// A 0-dimensional tensor accepts dim 0, but has no dimension to reduce.
inline uint64_t one_dim(int64_t dim, const Tensor& t) { return uint64_t{1} << wrap_dim(dim, t.dim()) & all_dims(t); }

// d is already wrapped.
inline void check_nonempty_dim(const Tensor& self, int64_t d, const char* name) {
  UT_CHECK_INDEX(self.dim() == 0 || self.size(d) != 0, name, "(): Expected reduction dim ", d,
                 " to have non-zero size.");
}

// t viewed as a tensor of at least one dimension.
inline Tensor at_least_1d(const Tensor& t) {
  const int64_t one = 1;
  return t.dim() ? t : alias(t, IntSpan(&one, 1), IntSpan(&one, 1), t.storage_offset(), t.dtype());
}
// A new tensor with dim `d` of size one removed (unless kept), or with no dims if the input had none.
Tensor drop_dim(const Tensor& t, int64_t d, bool keepdim, int64_t ndim);

}  // namespace undertow::core::fwd
