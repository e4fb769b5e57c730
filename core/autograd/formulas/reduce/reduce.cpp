// reduce.cpp: derivatives and compositions of sums, products, extrema and logsumexp.
// build: small
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

Tensor sum_to_composite(const Tensor& self, IntSpan size) {
  UT_CHECK(is_expandable_to(size, self.sizes()), "size {", ShapeText{size}, "} is not expandable to size {",
           ShapeText{self.sizes()}, "}.");
  if (size.empty()) return sum(self);  // widens integers even if nothing is summed
  if (same(self.sizes(), size)) return self;
  Dims dims;
  int64_t lead = self.dim() - static_cast<int64_t>(size.size());
  for (int64_t d = 0; d < lead; d++) dims.push_back(d);
  for (int64_t d = lead; d < self.dim(); d++)
    if (size[static_cast<size_t>(d - lead)] == 1 && self.size(d) != 1) dims.push_back(d);
  Tensor t = dims.empty() ? self : sum(self, IntSpan(dims), true, std::nullopt);
  return lead ? view(t, size) : t;
}

Tensor restore_dims(const Tensor& t, int64_t ndim, const std::optional<IntSpan>& dim, bool keepdim) {
  if (keepdim || ndim == 0) return t;
  uint64_t mask = dim_mask(dim.value_or(IntSpan()), ndim);
  if (UT_UNLIKELY(is_dispatched(t))) {  // torch's operators; a number needs none
    Tensor out = t;
    for (int64_t d = 0; t.dim() > 0 && d < ndim; d++)
      if (mask >> d & 1) out = unsqueeze(out, d);
    return out;
  }
  Dims shape;
  for (int64_t d = 0, k = 0; d < ndim; d++) shape.push_back(mask >> d & 1 ? 1 : t.size(k++));
  return reshape(t, shape);
}

Tensor expand_reduced(const Tensor& grad, IntSpan sizes, const std::optional<IntSpan>& dim, bool keepdim) {
  return expand(restore_dims(grad, static_cast<int64_t>(sizes.size()), dim, keepdim), sizes);
}

Tensor mean_backward(const Tensor& grad, IntSpan sizes, int64_t numel, const std::optional<IntSpan>& dim,
                     bool keepdim) {
  int64_t n = numel;
  if (dim && !dim->empty()) {
    n = 1;
    for (int64_t d : *dim)
      n *= sizes.empty() ? 1 : sizes[static_cast<size_t>(wrap_dim(d, static_cast<int64_t>(sizes.size())))];
  }
  return expand_reduced(grad, sizes, dim, keepdim) / Scalar(static_cast<double>(n));
}

Tensor nansum_backward(const Tensor& grad, const Tensor& self, const std::optional<IntSpan>& dim, bool keepdim) {
  return expand_reduced(grad, self.sizes(), dim, keepdim) * logical_not(isnan(detach(self)));
}
Tensor nansum_jvp(const Tensor& self_t, const Tensor& self, const std::optional<IntSpan>& dim, bool keepdim,
                  std::optional<DType> dtype) {
  return sum(masked_fill(self_t, isnan(detach(self)), Scalar(0)), dim, keepdim, dtype);
}
Tensor nanmean_composite(const Tensor& self, const std::optional<IntSpan>& dim, bool keepdim,
                         std::optional<DType> dtype) {
  UT_CHECK(is_differentiable(self.dtype()),
           "nanmean(): expected input to have floating point or complex dtype but got ", long_name(self.dtype()));
  Tensor count = sum(logical_not(isnan(detach(self))), dim, keepdim, std::nullopt);
  return nansum(self, dim, keepdim, dtype) / count;
}

namespace {
// True where self equals the reduced value, with NaN equal to NaN; has no history.
Tensor equals_of(const Tensor& self, const Tensor& value, const std::optional<IntSpan>& dim, bool keepdim) {
  Tensor x = detach(self), v = detach(restore_dims(value, self.dim(), dim, keepdim));
  Tensor equal = eq(x, v);
  return is_integral(self.dtype()) ? equal : logical_or(equal, logical_and(isnan(x), isnan(v)));
}
}  // namespace

Tensor split_among_equals(const Tensor& grad, const Tensor& self, const Tensor& value, IntSpan dim, bool keepdim) {
  Tensor equals = equals_of(self, value, dim, keepdim);
  return restore_dims(grad, self.dim(), dim, keepdim) / sum(equals, dim, true, std::nullopt) * equals;
}
// The others get 0 also for an infinite gradient, as in torch, where only the reductions over dimensions multiply.
Tensor split_among_all_equals(const Tensor& grad, const Tensor& self, const Tensor& value) {
  Tensor equals = equals_of(self, value, IntSpan(), false);
  return contiguous(where(equals, grad / sum(equals, IntSpan(), false, std::nullopt), Scalar(0)), std::nullopt);
}
Tensor mean_of_equals(const Tensor& self_t, const Tensor& self, const Tensor& value, IntSpan dim, bool keepdim) {
  Tensor equals = equals_of(self, value, dim, keepdim);
  return sum(self_t * equals, dim, keepdim, std::nullopt) / sum(equals, dim, keepdim, std::nullopt);
}

namespace {
IntSpan span_of(const std::optional<int64_t>& dim) { return dim ? IntSpan(&*dim, 1) : IntSpan(); }
}  // namespace

Tensor mean_of_equals(const Tensor& self_t, const Tensor& self, const Tensor& value, std::optional<int64_t> dim,
                      bool keepdim) {
  return mean_of_equals(self_t, self, value, span_of(dim), keepdim);
}
Tensor aminmax_backward(std::span<Tensor> grads, const Tensor& self, const Tensor& min, const Tensor& max,
                        std::optional<int64_t> dim, bool keepdim) {
  Tensor low = grads[0].defined() ? split_among_equals(grads[0], self, min, span_of(dim), keepdim) : Tensor();
  return grads[1].defined() ? self_t_plus(split_among_equals(grads[1], self, max, span_of(dim), keepdim), low) : low;
}

// d/dx log(sum(exp(x))) = exp(x - result); zero where both are minus infinity.
Tensor logsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntSpan dim, bool keepdim) {
  Tensor g = restore_dims(grad, self.dim(), dim, keepdim);
  return g * conj(exp(self - restore_dims(result, self.dim(), dim, keepdim)));
}
Tensor logsumexp_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result, IntSpan dim, bool keepdim) {
  return sum(self_t * exp(self - restore_dims(result, self.dim(), dim, keepdim)), dim, keepdim, std::nullopt);
}

}  // namespace undertow::core::ops
