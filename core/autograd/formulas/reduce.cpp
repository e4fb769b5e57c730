// reduce.cpp: derivatives and compositions of reductions.
#include "core/autograd/formulas/formulas.h"
#include "core/tensor/layout.h"

namespace undertow::ops {

Tensor sum_to_composite(const Tensor& self, IntSpan size) {
  UT_CHECK(is_expandable_to(size, self.sizes()), "size {", ShapeText{size}, "} is not expandable to size {", ShapeText{self.sizes()}, "}.");
  if (same(self.sizes(), size)) return self;
  Dims dims;
  int64_t lead = self.dim() - static_cast<int64_t>(size.size());
  for (int64_t d = 0; d < lead; d++) dims.push_back(d);
  for (int64_t d = lead; d < self.dim(); d++)
    if (size[static_cast<size_t>(d - lead)] == 1 && self.size(d) != 1) dims.push_back(d);
  Tensor t = dims.empty() ? self : sum(self, IntSpan(dims), true, std::nullopt);
  return lead ? view(t, size) : t;
}

Tensor expand_reduced(const Tensor& grad, IntSpan sizes, const std::optional<IntSpan>& dim, bool keepdim) {
  int64_t n = static_cast<int64_t>(sizes.size());
  if (keepdim || n == 0) return expand(grad, sizes);
  uint64_t mask = dim_mask(dim.value_or(IntSpan()), n);
  Dims shape;
  for (int64_t d = 0; d < n; d++) shape.push_back(mask >> d & 1 ? 1 : sizes[static_cast<size_t>(d)]);
  return expand(reshape(grad, shape), sizes);
}

}  // namespace undertow::ops
