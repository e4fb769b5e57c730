// scan.cpp: derivatives and compositions of scans.
// build: small
#include "core/forward/scan.h"

#include "core/autograd/formulas/common.h"
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/fused_formula.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"
#include "generated/fwd_index.h"

namespace undertow::core::ops {

namespace {
Tensor part(const Tensor& t, int64_t dim, int64_t from, int64_t to) { return narrow(t, dim, from, to - from); }
Tensor join(std::initializer_list<Tensor> list, int64_t dim) { return cat(TensorSpan(list.begin(), list.size()), dim); }
}  // namespace

Tensor reversed_cumsum(const Tensor& t, int64_t dim) {
  if (t.dim() == 0 || t.size(dim) <= 1) return t;
  if (!needs_operators()) return fwd::cumsum_from_the_end(t, dim);
  const int64_t d = dim;
  return flip(cumsum(flip(t, IntSpan(&d, 1)), dim, std::nullopt), IntSpan(&d, 1));
}

// With no zero in x: d out_i / d x_k = out_i / x_k for i >= k. A zero makes that 0/0; then, for each x_k in turn, the
// running products are computed without it.
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.dim() == 0) return grad;
  int64_t d = wrap_dim(dim, self.dim()), n = self.size(d);
  if (self.numel() <= 1 || n == 1) return grad;
  Tensor x = to_dtype(self, result.dtype());
  if (!has_zero(x)) return reversed_cumsum(grad * conj(result), d) / conj(x);
  std::vector<Tensor> slices;
  for (int64_t k = 0; k < n; k++) {
    Tensor before = k ? prod(part(x, d, 0, k), d, true, std::nullopt) : Tensor();
    Tensor after = k + 1 < n ? cumprod(part(x, d, k + 1, n), d, std::nullopt) : Tensor();
    Tensor one = before.defined() ? before : fwd::full_on_device_of(x, part(x, d, 0, 1).sizes(), Scalar(1), x.dtype());
    Tensor without = after.defined() ? join({one, before.defined() ? before * after : after}, d) : one;
    slices.push_back(sum(part(grad, d, k, n) * conj(without), IntSpan(&d, 1), true, std::nullopt));
  }
  return cat(slices, d);
}

// Up to the first zero of a line: out * cumsum(dx / x). From the first zero to the second: the product with dx in place
// of the zero. From the second on, the tangent is zero.
Tensor cumprod_jvp(const Tensor& self_t, const Tensor& self, const Tensor& result, int64_t dim) {
  Tensor x = to_dtype(self, result.dtype()), t = to_dtype(self_t, result.dtype());
  if (x.dim() == 0) return t;
  if (!has_zero(x)) return cumsum(t / x, dim, std::nullopt) * result;
  Tensor zero = eq(x, Scalar(0)), seen = cumsum(zero, dim, std::nullopt);
  Tensor safe = where(zero, Scalar(1), x);
  Tensor plain = cumsum(t / safe, dim, std::nullopt) * result;
  Tensor replaced = cumprod(where(logical_and(zero, eq(seen, Scalar(1))), t, x), dim, std::nullopt);
  Tensor none = fwd::zeros_on_device_of(x, x.sizes(), x.dtype());
  return where(eq(seen, Scalar(0)), plain, where(eq(seen, Scalar(1)), replaced, none));
}

// d out_i / d x_k = exp(x_k - out_i) for i >= k. The sum over i of grad_i * exp(-out_i) is computed by logcumsumexp
// itself, from the positive and the negative part of grad, so that nothing overflows.
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim) {
  if (grad.dim() == 0 || grad.numel() == 0) return grad;
  int64_t d = wrap_dim(dim, self.dim());
  auto reversed = [&](const Tensor& t) { return flip(logcumsumexp(flip(t, IntSpan(&d, 1)), d), IntSpan(&d, 1)); };
  if (self.is_complex()) {
    // A complex logarithm keeps the sign in the imaginary part, so one part is enough.
    Tensor g = log(conj(grad));
    return conj(exp(reversed(g - result) + self));
  }
  double least = std::numeric_limits<double>::lowest();
  if (grad.dtype() == DType::Float32) least = std::numeric_limits<float>::lowest();
  if (grad.dtype() == DType::Float16) least = -65504;
  if (grad.dtype() == DType::BFloat16) least = -3.3895313892515355e38;
  Tensor floor = fwd::full_on_device_of(grad, {}, Scalar(least), grad.dtype());
  Tensor size = log(abs(grad));
  Tensor positive = where(gt(grad, Scalar(0)), size, floor), negative = where(lt(grad, Scalar(0)), size, floor);
  return exp(reversed(positive - result) + self) - exp(reversed(negative - result) + self);
}
Tensor logcumsumexp_jvp(const Tensor& self_t, const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return self_t;
  int64_t d = dim;
  // Scaled by the largest element of each line, which cancels. The small number is torch's: where every weight so far
  // has underflowed, the tangent is zero, not 0/0.
  Tensor scaled = exp(self.is_complex() ? self : self - amax(self, IntSpan(&d, 1), true));
  return cumsum(self_t * scaled, dim, std::nullopt) / (cumsum(scaled, dim, std::nullopt) + Scalar(1e-13));
}

Tensor gather_at(const Tensor& t, int64_t dim, const Tensor& indices) {
  return t.dim() == 0 ? t : gather(t, dim, indices, false);
}
Tensor scatter_to(const Tensor& grad, IntSpan sizes, const Tensor& indices, int64_t dim) {
  if (sizes.empty()) return grad;
  Tensor out = zeros_of(sizes, grad);
  if (!is_unobserved(grad, indices)) return scatter(out, dim, indices, grad);
  fwd::scatter_out(out, out, dim, indices, grad);
  return out;
}
Tensor cumextremum_backward(const Tensor& grad, IntSpan sizes, const Tensor& indices, int64_t dim) {
  if (sizes.empty() || product(sizes) == 0) return grad;
  Tensor out = zeros_of(sizes, grad);
  if (!is_unobserved(grad, indices)) return scatter_add(out, dim, indices, grad);
  fwd::scatter_add_out(out, out, dim, indices, grad);
  return out;
}

namespace {
Tensor difference(const Tensor& t, int64_t d) {
  int64_t n = t.size(d);
  if (n == 0) return t;
  Tensor high = part(t, d, 1, n), low = part(t, d, 0, n - 1);
  return t.dtype() == DType::Bool ? logical_xor(high, low) : high - low;
}
void check_joined(const Tensor& self, const Tensor& other, int64_t d) {
  UT_CHECK(other.dim() == self.dim(), "diff expects prepend or append to be the same dimension as input, got ",
           other.dim(), " and ", self.dim());
  for (int64_t k = 0; k < self.dim(); k++)
    UT_CHECK(k == d || other.size(k) == self.size(k),
             "diff expects the shape of tensor to prepend or append to match that of input except along the "
             "differencing dimension; input.size(",
             k, ") = ", self.size(k), ", but got tensor.size(", k, ") = ", other.size(k));
}
}  // namespace

namespace {
// As in torch, a copy into new memory, which counts as a write.
Tensor diff_of_order_zero(const Tensor& self) {
  Tensor out = fwd::empty_in_format(self, self.dtype(), MemoryFormat::Preserve);
  return copy_(out, self, false);
}
}  // namespace
Tensor diff_composite(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  UT_CHECK(self.dim() > 0, "diff expects input to be at least one-dimensional");
  UT_CHECK(n >= 0, "order must be non-negative but got ", n);
  int64_t d = wrap_dim(dim, self.dim());
  Tensor t = self;
  if (prepend.defined() || append.defined()) {
    std::vector<Tensor> parts;
    if (prepend.defined()) check_joined(self, prepend, d), parts.push_back(prepend);
    parts.push_back(self);
    if (append.defined()) check_joined(self, append, d), parts.push_back(append);
    if (n == 0) return diff_of_order_zero(self);
    t = cat(parts, d);
  }
  if (n == 0) return diff_of_order_zero(t);
  if (n >= t.size(d)) return clone(narrow(t, d, 0, 0), std::nullopt);  // empty, but still with a history from t
  for (int64_t k = 0; k < n; k++) t = difference(t, d);
  return t;
}

namespace {
// The widths of the intervals of x, with a shape that broadcasts against y along d.
Tensor widths(const Tensor& y, const Tensor& x, int64_t d) {
  if (x.dim() == 1 && y.dim() > 1) {
    UT_CHECK(x.size(0) == y.size(d), "trapezoid: There must be one `x` value for each sample point");
    Dims shape(static_cast<size_t>(y.dim()), 1);
    shape[static_cast<size_t>(d)] = x.size(0);
    return difference(view(x, shape), d);
  }
  if (x.dim() < y.dim()) {
    Dims shape(static_cast<size_t>(y.dim() - x.dim()), 1);
    for (int64_t s : x.sizes()) shape.push_back(s);
    return difference(view(x, shape), d);
  }
  return difference(x, x.dim() - y.dim() + d);
}
void check_trapezoid(const Tensor& y, const char* name) {
  UT_CHECK(y.dtype() != DType::Bool, name, ": received a bool input for `y`, but bool is not supported");
}
Scalar half_of_step(const Scalar& dx, const char* name) {
  UT_CHECK(!dx.is_bool(), name, ": received a bool input for `dx`, but bool is not supported");
  UT_CHECK(!dx.is_complex(), name, ": Currently, we only support dx as a real number.");
  return Scalar(dx.to_double() * 0.5);
}
int64_t integrated_dim(const Tensor& y, int64_t dim) {
  UT_CHECK_INDEX(y.dim() > 0, "Dimension specified as ", dim, " but tensor has no dimensions");
  return wrap_dim(dim, y.dim());
}
bool is_zero_wide(const Tensor& y, int64_t d) { return y.size(d) == 0; }
Tensor empty_integral(const Tensor& y, int64_t d) {
  Dims sizes(y.sizes());
  sizes.erase(static_cast<size_t>(d));
  return fwd::zeros_on_device_of(y, sizes, y.dtype());
}
Tensor heights(const Tensor& y, int64_t d) { return part(y, d, 1, y.size(d)) + part(y, d, 0, y.size(d) - 1); }
}  // namespace

Tensor trapezoid_composite(const Tensor& y, const Tensor& x, int64_t dim) {
  int64_t d = integrated_dim(y, dim);
  if (is_zero_wide(y, d)) return empty_integral(y, d);
  check_trapezoid(y, "trapezoid");
  UT_CHECK(x.dtype() != DType::Bool, "trapezoid: received a bool input for `x`, but bool is not supported");
  return sum(heights(y, d) * widths(y, x, d), IntSpan(&d, 1), false, std::nullopt) / Scalar(2.0);
}
Tensor trapezoid_composite(const Tensor& y, const Scalar& dx, int64_t dim) {
  int64_t d = integrated_dim(y, dim);
  if (is_zero_wide(y, d)) return empty_integral(y, d);
  check_trapezoid(y, "trapezoid");
  Scalar scale = half_of_step(dx, "trapezoid");
  int64_t n = y.size(d);
  Tensor ends = sum(y, IntSpan(&d, 1), false, std::nullopt) * Scalar(2) - select(y, d, 0) - select(y, d, n - 1);
  return ends * scale;
}
Tensor cumulative_trapezoid_composite(const Tensor& y, const Tensor& x, int64_t dim) {
  check_trapezoid(y, "cumulative_trapezoid");
  UT_CHECK(x.dtype() != DType::Bool, "cumulative_trapezoid: received a bool input for `x`, but bool is not supported");
  int64_t d = wrap_dim(dim, y.dim());
  if (y.size(d) == 0) return y;
  return cumsum(heights(y, d) * widths(y, x, d), d, std::nullopt) / Scalar(2.0);
}
Tensor cumulative_trapezoid_composite(const Tensor& y, const Scalar& dx, int64_t dim) {
  check_trapezoid(y, "cumulative_trapezoid");
  Scalar scale = half_of_step(dx, "cumulative_trapezoid");
  int64_t d = wrap_dim(dim, y.dim());
  if (y.size(d) == 0) return y;
  return cumsum(heights(y, d) * scale, d, std::nullopt);
}

}  // namespace undertow::core::ops
