// arithmetic.cpp: forward functions of ops/arithmetic.toml that select a kernel or have two results.
#include <cmath>

#include "core/forward/copy/copy.h"
#include "core/forward/pointwise/pointwise.h"
#include "core/kernels/backend.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_arithmetic.h"
#include "generated/fwd_exponential.h"

namespace undertow::core::fwd {

namespace {
enum class Rounding { None, Trunc, Floor };
Rounding rounding_of(const std::optional<std::string_view>& mode) {
  if (!mode) return Rounding::None;
  if (*mode == "trunc") return Rounding::Trunc;
  if (*mode == "floor") return Rounding::Floor;
  UT_FAIL("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
}
template <class B>
Tensor div_by_mode(const Tensor& self, const B& other, const std::optional<std::string_view>& mode) {
  switch (rounding_of(mode)) {
    case Rounding::None:
      return div(self, other);
    case Rounding::Trunc:
      return trunc_divide(self, other);
    default:
      return floor_divide(self, other);
  }
}
template <class B>
void div_by_mode_out(const Tensor& out, const Tensor& self, const B& other,
                     const std::optional<std::string_view>& mode) {
  switch (rounding_of(mode)) {
    case Rounding::None:
      return div_out(out, self, other);
    case Rounding::Trunc:
      return trunc_divide_out(out, self, other);
    default:
      return floor_divide_out(out, self, other);
  }
}
}  // namespace

Tensor div(const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
  return div_by_mode(self, other, mode);
}
Tensor div(const Tensor& self, const Scalar& other, std::optional<std::string_view> mode) {
  return div_by_mode(self, other, mode);
}
void div_out(const Tensor& out, const Tensor& self, const Tensor& other, std::optional<std::string_view> mode) {
  div_by_mode_out(out, self, other, mode);
}
void div_out(const Tensor& out, const Tensor& self, const Scalar& other, std::optional<std::string_view> mode) {
  div_by_mode_out(out, self, other, mode);
}

// Powers. Common exponents have their own kernels: a product, a root or a quotient instead of a logarithm.
namespace {
bool is_float_like(const Tensor& t) { return is_floating(t.dtype()) || t.is_complex(); }
// Calls f(kernel) with the kernel for this exponent, or returns false.
template <class F>
bool by_exponent(const Tensor& self, const Scalar& exponent, F&& f) {
  if (exponent.is_complex() || self.dtype() == DType::Bool || (is_integral(self.dtype()) && exponent.is_floating()))
    return false;
  double e = exponent.to_double();
  if (e == 2)
    return f([](auto&&... a) { return square_kernel(a...); }, [](auto&&... a) { square_kernel_out(a...); }), true;
  if (e == 3) return f([](auto&&... a) { return cube_kernel(a...); }, [](auto&&... a) { cube_kernel_out(a...); }), true;
  if (!is_float_like(self)) return false;
  if (e == -1) return f([](auto&&... a) { return reciprocal(a...); }, [](auto&&... a) { reciprocal_out(a...); }), true;
  if (self.is_complex()) return false;
  if (e == 0.5) return f([](auto&&... a) { return sqrt(a...); }, [](auto&&... a) { sqrt_out(a...); }), true;
  if (e == -0.5) return f([](auto&&... a) { return rsqrt(a...); }, [](auto&&... a) { rsqrt_out(a...); }), true;
  return false;
}
void check_exponent(const Tensor& self, const Scalar& exponent) {
  UT_CHECK(!is_integral(self.dtype()) || !exponent.is_integral() || exponent.to_int() >= 0,
           "Integers to negative integer powers are not allowed. The base has dtype ", self.dtype(),
           ", the exponent is ", exponent);
}
}  // namespace

Tensor pow(const Tensor& self, const Tensor& exponent) { return power(self, exponent); }
void pow_out(const Tensor& out, const Tensor& self, const Tensor& exponent) { power_out(out, self, exponent); }

Tensor pow(const Tensor& self, const Scalar& exponent) {
  check_exponent(self, exponent);
  Tensor result;
  if (by_exponent(self, exponent, [&](auto kernel, auto) { result = kernel(self); })) return result;
  DType t = result_type(self, exponent);
  if (exponent.equals(0)) {
    result = clone_preserve(self.dtype() == t ? self : to_dtype(self, t));
    fill_into(result, Scalar(1));
    return result;
  }
  if (exponent.equals(1)) return self.dtype() == t ? clone_preserve(self) : to_dtype(self, t);
  return power(self, exponent);
}
void pow_out(const Tensor& out, const Tensor& self, const Scalar& exponent) {
  check_exponent(self, exponent);
  if (by_exponent(self, exponent, [&](auto, auto kernel_out) { kernel_out(out, self); })) return;
  power_out(out, self, exponent);
}

Tensor pow(const Scalar& self, const Tensor& exponent) {
  if (DType t = result_type(exponent, self); self.equals(1) && t != DType::Bool) {
    Tensor result = clone_preserve(exponent.dtype() == t ? exponent : to_dtype(exponent, t));
    fill_into(result, Scalar(1));
    return result;
  }
  return power(self, exponent);
}

Tensor ldexp(const Tensor& self, const Tensor& other) {
  // In the dtype of self if that is floating: 2**other is computed in it, so that an integer `other` does not widen the
  // result.
  DType t = result_type(self, other);
  if (is_integral(t)) t = default_dtype();
  return mul(to_dtype(self, t), pow(Scalar(2.0), to_dtype(other, t)));
}

std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  UT_CHECK(is_floating(self.dtype()), "undertow.frexp() only supports floating-point dtypes, got ", self.dtype());
  ElementwiseIter iter;
  iter.add_output({}, self.dtype());
  iter.add_output({}, DType::Int32);
  iter.add_input(self);
  iter.build();
  backend_of(self).pointwise->frexp(iter, self.dtype());
  return {iter.output(0), iter.output(1)};
}

namespace {
struct Replacements {
  double nan, high, low;
};
Replacements replacements(DType t, std::optional<double> nan, std::optional<double> high, std::optional<double> low) {
  double largest = 0;
  switch (to_real(t)) {
    case DType::Float16:
      largest = 65504;
      break;
    case DType::BFloat16:
      largest = 0x1.fep127;
      break;
    case DType::Float32:
      largest = 0x1.fffffep127;
      break;
    default:
      largest = 0x1.fffffffffffffp1023;
  }
  return {nan.value_or(0), high.value_or(largest), low.value_or(-largest)};
}
}  // namespace

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (is_integral(self.dtype())) return clone_preserve(self);
  Replacements r = replacements(self.dtype(), nan, posinf, neginf);
  return nan_to_num_kernel(self, r.nan, r.high, r.low);
}
void nan_to_num_out(const Tensor& out, const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                    std::optional<double> neginf) {
  if (is_integral(self.dtype())) {
    resize_output(out, self.sizes());
    return copy_into(out, self);
  }
  Replacements r = replacements(self.dtype(), nan, posinf, neginf);
  nan_to_num_kernel_out(out, self, r.nan, r.high, r.low);
}

Tensor nextafter(const Tensor& self, const Tensor& other) {
  DType t = result_type(self, other);
  if (!is_reduced_float(t)) return nextafter_kernel(self, other);
  ElementwiseIter iter;
  Tensor a = to_dtype(self, t), b = to_dtype(other, t);
  iter.add_output({}, t);
  iter.add_input(a);
  iter.add_input(b);
  iter.build();
  backend_of(iter.device()).pointwise->nextafter_half(iter, t);
  return iter.output();
}
void nextafter_out(const Tensor& out, const Tensor& self, const Tensor& other) {
  if (!is_reduced_float(result_type(self, other))) return nextafter_kernel_out(out, self, other);
  Tensor result = nextafter(self, other);
  if (!out.is_same(self)) resize_output(out, result.sizes());
  copy_into(out, result);
}

}  // namespace undertow::core::fwd
