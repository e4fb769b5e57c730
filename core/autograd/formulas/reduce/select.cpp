// select.cpp: derivatives of products and of reductions that select elements; quantiles.
// build: small
#include "core/autograd/formulas/common.h"
#include "core/autograd/formulas/formulas.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

namespace {
// For each element, the product of all others along d: running products from both ends. No division, so zeros are fine.
Tensor product_of_others(const Tensor& x, int64_t d) {
  int64_t n = x.size(d);
  if (n == 1) return fwd::full_on_device_of(x, x.sizes(), Scalar(1), x.dtype());
  Dims edge(x.sizes());
  edge[static_cast<size_t>(d)] = 1;
  Tensor one = fwd::full_on_device_of(x, edge, Scalar(1), x.dtype());
  auto exclusive = [&](const Tensor& t) {
    Tensor parts[] = {one, narrow(t, d, 0, n - 1)};
    return cumprod(cat(parts, d), d, std::nullopt);
  };
  IntSpan dims(&d, 1);
  return exclusive(x) * flip(exclusive(flip(x, dims)), dims);
}
}  // namespace

Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (self.dim() == 0) return grad;
  if (self.numel() == 0) return expand(grad * conj(result), self.sizes());
  Tensor x = to_dtype(self, result.dtype());
  if (!has_zero(x)) return grad * conj(result / x);
  return grad * conj(reshape(product_of_others(reshape(x, Dims{-1}), 0), self.sizes()));
}
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return grad;
  int64_t d = wrap_dim(dim, self.dim());
  IntSpan dims(&d, 1);
  if (self.numel() == 0) return expand(restore_dims(grad * conj(result), self.dim(), dims, keepdim), self.sizes());
  Tensor x = to_dtype(self, result.dtype()), g = restore_dims(grad, self.dim(), dims, keepdim);
  if (!has_zero(x)) return g * conj(restore_dims(result, self.dim(), dims, keepdim) / x);
  return g * conj(product_of_others(x, d));
}
Tensor prod_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result) {
  Tensor one = fwd::full_on_device_of(result, {}, Scalar(1), result.dtype());
  return sum(self_t * conj(prod_backward(one, self, result)));
}
Tensor prod_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim) {
  if (self.dim() == 0) return self_t;
  Tensor one = fwd::full_on_device_of(result, result.sizes(), Scalar(1), result.dtype());
  return sum(self_t * conj(prod_backward(one, self, result, dim, keepdim)), IntSpan(&dim, 1), keepdim, std::nullopt);
}

Tensor value_selecting_reduction_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntSpan sizes,
                                          bool keepdim) {
  if (sizes.empty()) return grad;
  IntSpan dims(&dim, 1);
  int64_t n = static_cast<int64_t>(sizes.size());
  return scatter_to(restore_dims(grad, n, dims, keepdim), sizes, restore_dims(indices, n, dims, keepdim), dim);
}
Tensor gather_reduced(const Tensor& self_t, int64_t dim, const Tensor& indices, bool keepdim) {
  if (self_t.dim() == 0) return self_t;
  IntSpan dims(&dim, 1);
  Tensor picked = gather(self_t, dim, restore_dims(indices, self_t.dim(), dims, keepdim), false);
  return keepdim ? picked : squeeze(picked, dim);
}

namespace {
// The elements, sorted along dim, which becomes the last dimension; flattened if no dim is given.
Tensor sorted_last(const Tensor& self, const std::optional<int64_t>& dim) {
  if (!dim || self.dim() == 0) return std::get<0>(sort(reshape(self, Dims{-1}), -1, false));
  return std::get<0>(sort(transpose(unsqueeze(self, -1), wrap_dim(*dim, self.dim()), -1), -1, false));
}
}  // namespace

Tensor quantile_composite(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation, bool ignore_nan) {
  const char* name = ignore_nan ? "nanquantile" : "quantile";
  UT_CHECK(self.numel() > 0, name, "() input tensor must be non-empty");
  UT_CHECK(q.dim() < 2, name, "() q must be a scalar or 1D tensor");
  UT_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, name,
           "() input tensor must be either float or double dtype");
  UT_CHECK(self.dtype() == q.dtype(), name, "() q tensor must be same dtype as the input tensor");
  bool linear = interpolation == "linear", midpoint = interpolation == "midpoint";
  UT_CHECK(linear || midpoint || interpolation == "lower" || interpolation == "higher" || interpolation == "nearest",
           name, "() interpolation must be one of linear, lower, higher, midpoint or nearest, but got ", interpolation);
  if (dim) wrap_dim(*dim, self.dim());
  bool checked = q.is_cpu();  // as torch: on other devices the check would wait for the device
  UT_CHECK(!checked || item(all(logical_and(ge(detach(q), Scalar(0)), le(detach(q), Scalar(1))))).to<bool>(), name,
           "() q values must be in the range [0, 1]");

  Tensor sorted = sorted_last(self, dim), at = reshape(q, Dims{-1}), ranks;
  int64_t n = sorted.size(-1);
  const int64_t last = -1;
  if (ignore_nan) {
    Tensor count =
        to_dtype(sum(logical_not(isnan(detach(sorted))), IntSpan(&last, 1), true, std::nullopt), self.dtype());
    ranks = at * (count - Scalar(1));
    ranks = masked_fill(ranks, lt(ranks, Scalar(0)), Scalar(0));
  } else {
    ranks = at * Scalar(static_cast<double>(n - 1));
    ranks = masked_fill(ranks, any(isnan(detach(sorted)), -1, true), Scalar(static_cast<double>(n - 1)));
  }
  Dims lead(sorted.sizes());
  lead.back() = at.numel();
  ranks = expand(ranks, lead);
  if (interpolation == "lower") ranks = floor(ranks);
  if (interpolation == "higher") ranks = ceil(ranks);
  if (interpolation == "nearest") ranks = round(ranks);
  Tensor below = to_dtype(detach(ranks), DType::Int64);
  Tensor out = gather(sorted, -1, below, false);
  if (linear || midpoint) {
    Tensor weight =
        midpoint ? fwd::full_on_device_of(self, {}, Scalar(0.5), self.dtype()) : ranks - to_dtype(below, self.dtype());
    Tensor above = gather(sorted, -1, to_dtype(ceil(detach(ranks)), DType::Int64), false);
    out = lerp_(out, above, weight);
  }
  // out is [others..., quantiles]; move the quantiles to the front, and drop the reduced dim or keep it with size one.
  Dims shape;
  if (q.dim()) shape.push_back(q.numel());
  if (dim && self.dim()) {
    int64_t d = wrap_dim(*dim, self.dim());
    for (int64_t k = 0; k < self.dim(); k++) {
      if (k != d)
        shape.push_back(self.size(k));
      else if (keepdim)
        shape.push_back(1);
    }
  } else if (keepdim) {
    for (int64_t k = 0; k < self.dim(); k++) shape.push_back(1);
  }
  // In place, as in torch: the result is no view, and its version counts these steps.
  if (q.dim())
    squeeze_(transpose_(unsqueeze_(out, 0), 0, -1), -1);
  else
    squeeze_(out, -1);
  if (same(out.sizes(), shape)) return out;
  Dims strides;
  return view_strides(out.sizes(), out.strides(), shape, strides) ? _unsafe_view(out, shape) : reshape(out, shape);
}
Tensor quantile_composite(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim,
                          std::string_view interpolation, bool ignore_nan) {
  UT_CHECK(q >= 0 && q <= 1, ignore_nan ? "nanquantile" : "quantile", "() q must be in the range [0, 1] but got ", q);
  return quantile_composite(self, fwd::full_on_device_of(self, {}, Scalar(q), self.dtype()), dim, keepdim,
                            interpolation, ignore_nan);
}

}  // namespace undertow::core::ops
