// pointwise.cpp: derivatives and compositions of pointwise operators; activations are in activation.cpp.
// build: small
#include <cmath>

#include "core/autograd/formulas/formulas.h"
#include "core/autograd/tangents.h"
#include "core/base/signals.h"
#include "core/forward/copy/copy.h"
#include "core/graph/engine/graph_task.h"
#include "core/graph/forward_level.h"
#include "core/tensor/dtype/promotion.h"

namespace undertow::core::ops {

Tensor not_differentiable(const char* name) { UT_FAIL("derivative for aten::", name, " is not implemented"); }
Tensor not_implemented(const char* what, const char* name) {
  if (!current_graph_task && forward_level::current() >= 0) raise_no_forward_derivative(name);
  UT_FAIL_AS(NotImplemented, "the derivative for '", what, "' is not implemented.");
}

Tensor keep_where(const Tensor& condition, const Tensor& grad) { return where(condition, grad, Scalar(0)); }
Tensor drop_where(const Tensor& condition, const Tensor& grad) { return where(condition, Scalar(0), grad); }
Tensor real_part(const Tensor& t) { return real(t); }
Tensor imag_part(const Tensor& t) {
  if (!t.is_complex()) return fwd::zeros_on_device_of(t, t.sizes(), t.dtype());
  return select(view_as_real(resolve_conj(t)), -1, 1);
}
Scalar one_minus(const Scalar& s) {
  return s.is_complex() ? Scalar(1.0 - s.to_complex()) : Scalar(1.0 - s.to_double());
}
Tensor one_minus(const Tensor& t) { return 1 - t; }
Scalar plus_one(const Scalar& s) { return Scalar(s.to_double() + 1.0); }
Tensor plus_one(const Tensor& t) { return t + 1; }

Tensor as_number(const Scalar& s) {
  // In the widest type of its kind, so that the number is converted only once, by the operator that uses it. A number
  // goes with every device from the CPU.
  DType kind = scalar_dtype(s);
  Tensor t = fwd::full({}, s, is_complex(kind) ? DType::Complex128 : is_floating(kind) ? DType::Float64 : kind, kCpu);
  t.impl()->set(kWrappedNumber);
  return t;
}
Tensor positive_composite(const Tensor& self) {
  UT_CHECK(self.dtype() != DType::Bool, "The `+` operator, on a bool tensor is not supported.");
  return self;
}

// d(z / |z|): the part of dz / |z| orthogonal to z.
Tensor sgn_backward(const Tensor& self, const Tensor& grad, const Tensor& sign) {
  if (!self.is_complex()) return zeros_like_grad(grad);
  Tensor size = abs(self);
  return drop_where(eq(size, 0), (grad - real_part(grad * conj(sign)) * sign) / size);
}

Tensor angle_backward(const Tensor& grad, const Tensor& self) {
  if (!self.is_complex()) return zeros_like(self);
  return drop_where(eq(self, 0), grad * (self / pow(abs(self), 2)) * Scalar(std::complex<double>(0, 1)));
}

Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  // Not result / self: the quotient is exact, but its derivatives are not.
  return grad * (sgn(result) * sgn(self));
}
Tensor frexp_backward(const Tensor& grad, const Tensor& exponent) {
  if (!grad.defined()) return grad;
  return grad * to_dtype(exp2(to_dtype(-exponent, DType::Float64)), grad.dtype());
}

Tensor div_mode_grad_self(const Tensor& grad, const Tensor& other, bool rounded) {
  return rounded ? zeros_like_grad(grad) : grad / conj(other);
}
Tensor div_mode_grad_self(const Tensor& grad, const Scalar& other, bool rounded) {
  return rounded ? zeros_like_grad(grad) : grad / conj(other);
}
Tensor div_mode_grad_other(const Tensor& grad, const Tensor& self, const Tensor& other, bool rounded) {
  return rounded ? zeros_like_grad(grad) : -grad * conj(self / other / other);
}
Tensor floor_of_quotient(const Scalar& self, const Tensor& other) { return floor(mul(reciprocal(other), self)); }

Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent) {
  if (exponent.equals(0)) return zeros_like_grad(grad);
  if (exponent.equals(2) && !exponent.is_complex()) return grad * conj(self * 2);
  Scalar less = exponent.is_complex()    ? Scalar(exponent.to_complex() - 1.0)
                : exponent.is_integral() ? Scalar(static_cast<long>(exponent.to_int() - 1))
                                         : Scalar(exponent.to_double() - 1);
  return grad * conj(pow(self, less) * exponent);
}
Tensor pow_backward_self(const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  return drop_where(eq(exponent, 0), grad * conj(exponent * pow(self, exponent - 1)));
}

namespace {
// For these exponents, the gradient of 0 ** x with respect to x is zero.
Tensor at_or_above_zero(const Tensor& exponent) {
  if (!exponent.is_complex()) return ge(exponent, 0);
  return logical_and(eq(imag_part(exponent), 0), ge(real_part(exponent), 0));
}
}  // namespace

Tensor pow_backward_exponent(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result) {
  Tensor flat = logical_and(eq(self, 0), at_or_above_zero(exponent));
  Tensor base = to_dtype(self, result.dtype());
  return grad * drop_where(flat, conj(result * log(base)));
}
Tensor pow_backward_exponent(const Tensor& grad, const Scalar& self, const Tensor& exponent, const Tensor& result) {
  bool complex = self.is_complex() || exponent.is_complex();
  Scalar log_base = complex ? Scalar(std::log(self.to_complex())) : Scalar(std::log(self.to_double()));
  Tensor slope = conj(result * log_base);
  return grad * (self.equals(0) ? drop_where(at_or_above_zero(exponent), slope) : slope);
}

namespace {
DType float_power_dtype(bool complex) { return complex ? DType::Complex128 : DType::Float64; }
Scalar widened(const Scalar& s, bool complex) { return complex ? Scalar(s.to_complex()) : Scalar(s.to_double()); }
void check_base(const Tensor& self, DType dtype) {
  UT_CHECK(self.dtype() == dtype, "the base given to float_power_ has dtype ", long_name(self.dtype()),
           " but the operation's result requires dtype ", long_name(dtype));
}
}  // namespace

Tensor float_power_composite(const Tensor& self, const Tensor& exponent) {
  DType t = float_power_dtype(self.is_complex() || exponent.is_complex());
  return pow(to_dtype(self, t), to_dtype(exponent, t));
}
Tensor float_power_composite(const Tensor& self, const Scalar& exponent) {
  bool complex = self.is_complex() || exponent.is_complex();
  return pow(to_dtype(self, float_power_dtype(complex)), widened(exponent, complex));
}
Tensor float_power_composite(const Scalar& self, const Tensor& exponent) {
  bool complex = self.is_complex() || exponent.is_complex();
  return pow(widened(self, complex), to_dtype(exponent, float_power_dtype(complex)));
}
const Tensor& float_power_inplace(const Tensor& self, const Tensor& exponent) {
  DType t = float_power_dtype(self.is_complex() || exponent.is_complex());
  check_base(self, t);
  return pow_(self, to_dtype(exponent, t));
}
const Tensor& float_power_inplace(const Tensor& self, const Scalar& exponent) {
  bool complex = self.is_complex() || exponent.is_complex();
  check_base(self, float_power_dtype(complex));
  return pow_(self, widened(exponent, complex));
}

Tensor xlogy_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return grad * drop_where(logical_and(eq(self, 0), le(other, 0)), log(other));
}
Tensor xlogy_grad_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  double y = other.to_double();
  return y > 0 ? grad * Scalar(std::log(y))
               : grad * drop_where(eq(self, 0),
                                   fwd::full_on_device_of(self, self.sizes(), Scalar(std::log(y)), self.dtype()));
}
Tensor xlog1py_grad_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return grad * drop_where(logical_and(eq(self, 0), le(other, -1)), log1p(other));
}
Tensor xlog1py_grad_self(const Tensor& grad, const Tensor& self, const Scalar& other) {
  double y = other.to_double();
  return y > -1 ? grad * Scalar(std::log1p(y))
                : grad * drop_where(eq(self, 0),
                                    fwd::full_on_device_of(self, self.sizes(), Scalar(std::log1p(y)), self.dtype()));
}
// From a copy: the gradient of other needs the old value of self.
const Tensor& xlogy_inplace(const Tensor& self, const Tensor& other) {
  return copy_(self, xlogy(clone(self, std::nullopt), other), false);
}
const Tensor& xlogy_inplace(const Tensor& self, const Scalar& other) {
  return copy_(self, xlogy(clone(self, std::nullopt), other), false);
}

Tensor sinc_backward(const Tensor& grad, const Tensor& self) {
  Tensor angle = self * M_PI, square = self * self * M_PI;
  return drop_where(eq(square, 0), grad * conj((angle * cos(angle) - sin(angle)) / square));
}

namespace {
// Replaces values near zero, because both Bessel formulas divide by self.
Tensor not_tiny(const Tensor& self, const Tensor& tiny, double eps) { return where(tiny, Scalar(eps), self); }
double epsilon_of(DType t) {
  return t == DType::Float64 ? 0x1p-52 : t == DType::Float32 ? 0x1p-23 : t == DType::Float16 ? 0x1p-10 : 0x1p-7;
}
}  // namespace

Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  double eps = epsilon_of(self.dtype());
  Tensor tiny = le(abs(self), eps), safe = not_tiny(self, tiny, eps);
  return grad * where(tiny, Scalar(0.5), i0(safe) - result * reciprocal(safe));
}
Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result) {
  double eps = epsilon_of(self.dtype());
  Tensor tiny = le(abs(self), eps), safe = not_tiny(self, tiny, eps);
  return grad * where(tiny, Scalar(0.5), i0e(safe) - result * (sgn(safe) + reciprocal(safe)));
}

Tensor mvlgamma_backward(const Tensor& grad, const Tensor& self, int64_t p) {
  Tensor sum = digamma(self);
  for (int64_t j = 1; j < p; j++) {
    if (j % 1024 == 0) poll_signals();
    sum = sum + digamma(self - 0.5 * static_cast<double>(j));
  }
  return grad * sum;
}

Tensor tanh_backward_jvp(const Tensor& grad_output, const Tensor& output, const Tensor& grad_t,
                         const Tensor& output_t) {
  Tensor a = grad_t.defined() ? tanh_backward(grad_t, output) : Tensor();
  Tensor b = output_t.defined() ? grad_output * conj(-2 * output * output_t) : Tensor();
  return self_t_plus(a, b);
}
Tensor sigmoid_backward_jvp(const Tensor& grad_output, const Tensor& output, const Tensor& grad_t,
                            const Tensor& output_t) {
  Tensor a = grad_t.defined() ? sigmoid_backward(grad_t, output) : Tensor();
  Tensor b = output_t.defined() ? grad_output * conj((1 - 2 * output) * output_t) : Tensor();
  return self_t_plus(a, b);
}

Tensor polar_grad_abs(const Tensor& grad, const Tensor& result) { return real_part(conj(grad) * sgn(result)); }
Tensor polar_grad_angle(const Tensor& grad, const Tensor& result) {
  return real_part(conj(grad) * (result * Scalar(std::complex<double>(0, 1))));
}
Tensor polar_jvp(const Tensor& abs, const Tensor& angle, const Tensor& abs_t, const Tensor& angle_t) {
  Tensor direction = polar(fwd::full_on_device_of(angle, angle.sizes(), Scalar(1.0), angle.dtype()), angle);
  Tensor a = abs_t.defined() ? direction * abs_t : Tensor();
  Tensor b = angle_t.defined() ? direction * Scalar(std::complex<double>(0, 1)) * (abs * angle_t) : Tensor();
  return self_t_plus(a, b);
}
Tensor complex_jvp(const Tensor& real, const Tensor& imag, const Tensor& real_t, const Tensor& imag_t) {
  return complex(real_t.defined() ? real_t : zeros_like_grad(real), imag_t.defined() ? imag_t : zeros_like_grad(imag));
}

Tensor extreme_backward(const Tensor& grad, const Tensor& loses, const Tensor& ties) {
  return drop_where(loses, where(ties, grad / 2, grad));
}
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max) {
  if (min && max) return keep_where(logical_and(ge(self, *min), le(self, *max)), grad);
  return keep_where(min ? ge(self, *min) : le(self, *max), grad);
}
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max) {
  if (min.defined() && max.defined()) return keep_where(logical_and(ge(self, min), le(self, max)), grad);
  return keep_where(min.defined() ? ge(self, min) : le(self, max), grad);
}
Tensor clamp_backward_min(const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max) {
  Tensor below = lt(self, min);
  return keep_where(max.defined() ? logical_and(below, lt(min, max)) : below, grad);
}
Tensor clamp_backward_max(const Tensor& grad, const Tensor& self, const Tensor& min, const Tensor& max) {
  Tensor above = gt(self, max);
  return keep_where(min.defined() ? logical_or(above, lt(max, min)) : above, grad);
}

// An undefined tangent is zero.
Tensor choice_jvp(const Tensor& condition, const Tensor& self_t, const Tensor& other_t) {
  return self_t_plus(self_t.defined() ? keep_where(condition, self_t) : self_t,
                     other_t.defined() ? drop_where(condition, other_t) : other_t);
}
Tensor extreme_jvp(const Tensor& wins, const Tensor& ties, const Tensor& self_t, const Tensor& other_t) {
  Tensor chosen = choice_jvp(wins, self_t, other_t), half = maybe_mul(self_t_plus(self_t, other_t), Scalar(0.5));
  return where(ties, half, chosen);
}
// As in torch: with one bound, the tangent at the bound and at NaN is the bound's; with two bounds it is self's.
Tensor clamp_jvp(const Tensor& self, const Tensor& self_t, const Tensor& min, const Tensor& min_t, const Tensor& max,
                 const Tensor& max_t) {
  if (!max.defined()) return choice_jvp(gt(self, min), self_t, min_t);
  if (!min.defined()) return choice_jvp(lt(self, max), self_t, max_t);
  Tensor out = choice_jvp(lt(self, min), min_t, self_t);
  return choice_jvp(logical_or(gt(self, max), gt(min, max)), max_t, out);
}

}  // namespace undertow::core::ops
