// comparison.cpp: forward functions of ops/comparison.toml (clamp, where, isclose and its relatives) and
// ops/activation.toml (gelu's two forms).
#include "core/forward/copy/copy.h"
#include "core/forward/pointwise/pointwise.h"
#include "core/kernels/backend.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/dtype/storage_dtypes.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_activation.h"
#include "generated/fwd_arithmetic.h"
#include "generated/fwd_comparison.h"
#include "generated/fwd_copy.h"
#include "generated/fwd_logic.h"
#include "generated/fwd_reduce.h"

namespace undertow::core::fwd {

namespace {
void check_bounds(const Tensor& self, bool min, bool max) {
  UT_CHECK(min || max, "undertow.clamp: At least one of 'min' or 'max' must not be None");
  UT_CHECK_AS(NotImplemented, !self.is_complex(), "clamp is not supported for complex types");
}
}  // namespace

Tensor clamp(const Tensor& self, const Tensor& min, const Tensor& max) {
  check_bounds(self, min.defined(), max.defined());
  if (min.defined() && max.defined()) return clamp_kernel(self, min, max);
  return min.defined() ? clamp_min(self, min) : clamp_max(self, max);
}
void clamp_out(const Tensor& out, const Tensor& self, const Tensor& min, const Tensor& max) {
  check_bounds(self, min.defined(), max.defined());
  if (min.defined() && max.defined()) return clamp_kernel_out(out, self, min, max);
  if (min.defined())
    clamp_min_out(out, self, min);
  else
    clamp_max_out(out, self, max);
}
Tensor clamp(const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  check_bounds(self, min.has_value(), max.has_value());
  if (min && max) return clamp_kernel(self, *min, *max);
  return min ? clamp_min(self, *min) : clamp_max(self, *max);
}
void clamp_out(const Tensor& out, const Tensor& self, const std::optional<Scalar>& min,
               const std::optional<Scalar>& max) {
  check_bounds(self, min.has_value(), max.has_value());
  if (min && max) return clamp_kernel_out(out, self, *min, *max);
  if (min)
    clamp_min_out(out, self, *min);
  else
    clamp_max_out(out, self, *max);
}

// where: only moves elements, so only their width matters.
namespace {
struct alignas(16) Value {
  char bytes[16];
};
Value value_of(const Scalar& s, DType t) {
  Value v;
  write_element(t, s, v.bytes);
  return v;
}

Tensor choose(const Tensor& condition, Operand self, Operand other) {
  UT_CHECK(condition.dtype() == DType::Bool || condition.dtype() == DType::UInt8,
           "where expected condition to be a boolean tensor, but got a tensor with dtype ",
           long_name(condition.dtype()));
  Promoter promoter;
  for (const Operand* o : {&self, &other}) {
    if (o->tensor)
      promoter.add(*o->tensor);
    else
      promoter.add(*o->scalar);
  }
  DType t = promoter.result();
  ElementwiseIter iter;
  iter.add_output({}, t);
  iter.add_input(condition);
  Tensor kept[2];
  Value values[2];
  int i = 0;
  for (const Operand* o : {&self, &other}) {
    if (o->tensor) {
      kept[i] = to_dtype(materialize_bits(*o->tensor), t);
      iter.add_input(kept[i]);
    } else {
      values[i] = value_of(*o->scalar, t);
      iter.add_constant(values[i].bytes);
    }
    i++;
  }
  iter.build();
  backend_of(iter.device()).pointwise->where(iter, t);
  return iter.output();
}
}  // namespace

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  return choose(condition, self, other);
}
Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other) {
  return choose(condition, self, other);
}
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other) {
  return choose(condition, self, other);
}
Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other) {
  return choose(condition, self, other);
}

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  UT_CHECK(self.dtype() == other.dtype(), long_name(self.dtype()), " did not match ", long_name(other.dtype()));
  UT_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  UT_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = eq(self, other);
  if (equal_nan && !is_integral(self.dtype())) close = logical_or(close, logical_and(isnan(self), isnan(other)));
  if (rtol == 0 && atol == 0) return close;
  Tensor a = is_integral(self.dtype()) ? to_dtype(self, default_dtype()) : self,
         b = is_integral(other.dtype()) ? to_dtype(other, default_dtype()) : other;
  Tensor allowed = add(abs(mul(b, Scalar(rtol))), Scalar(atol), Scalar(1));
  Tensor gap = abs(sub(a, b, Scalar(1)));
  Tensor result = logical_or(close, logical_and(isfinite(gap), le(gap, allowed)));
  // Torch writes each further condition into the first.
  for (int i = 0; i < 1 + (equal_nan && !is_integral(self.dtype())); i++) result.bump_version("isclose");
  return result;
}
namespace {
bool all_true(const Tensor& t) { return t.numel() == 0 || item(all(t)).to<bool>(); }
}  // namespace
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  return all_true(isclose(self, other, rtol, atol, equal_nan));
}
bool equal(const Tensor& self, const Tensor& other) {
  if (self.dtype() == DType::Complex32) throw_not_implemented("equal_cpu", self.dtype());
  if (!same(self.sizes(), other.sizes())) return false;
  // Different tensors mostly differ early: the first elements are compared before the others.
  constexpr int64_t first = 128;
  if (self.numel() > 64 * first) {
    Dims sizes(self.sizes());
    int64_t left = first;
    for (size_t d = sizes.size(); d-- > 0; left = std::max<int64_t>(1, left / sizes[d]))
      sizes[d] = std::min(sizes[d], left);
    auto begin = [&](const Tensor& t) { return alias(t, sizes, t.strides(), t.storage_offset(), t.dtype()); };
    if (!all_true(eq(begin(self), begin(other)))) return false;
  }
  return all_true(eq(self, other));
}

namespace {
bool is_exact(std::string_view approximate) {
  UT_CHECK(approximate == "none" || approximate == "tanh", "approximate argument must be either none or tanh. Got '",
           approximate, "'");
  return approximate == "none";
}
}  // namespace
Tensor gelu(const Tensor& self, std::string_view approximate) {
  return is_exact(approximate) ? gelu_erf(self) : gelu_tanh(self);
}
void gelu_out(const Tensor& out, const Tensor& self, std::string_view approximate) {
  if (is_exact(approximate))
    gelu_erf_out(out, self);
  else
    gelu_tanh_out(out, self);
}
Tensor gelu_backward(const Tensor& grad, const Tensor& self, std::string_view approximate) {
  return is_exact(approximate) ? gelu_erf_backward(grad, self) : gelu_tanh_backward(grad, self);
}

}  // namespace undertow::core::fwd
