// complex_math.cuh: the functions of scalar_math.cuh for complex numbers. Those of complex64 are computed in double:
// they are limited by memory anyway, and the formulas below lose digits near their branch points.
#pragma once
#include "device/scalar_math.cuh"

namespace undertow::scalar_math {

using Z = Complex<double>;

UT_DEVICE Z times_i(Z z) { return {-z.im, z.re}; }
UT_DEVICE Z over_i(Z z) { return {z.im, -z.re}; }

namespace wide {

UT_DEVICE Z exp(Z z) {
  if (z.im == 0) return {::exp(z.re), z.im};
  double r = ::exp(z.re), s, c;
  ::sincos(z.im, &s, &c);
  return r == 0 ? Z(0) : Z(r * c, r * s);
}
UT_DEVICE Z log(Z z) {
  double x = ::fabs(z.re), y = ::fabs(z.im), large = ::fmax(x, y), small = ::fmin(x, y), r = ::hypot(x, y);
  // Near the unit circle, where the logarithm of the magnitude is small.
  double real = r > 0.5 && r < 2 ? 0.5 * ::log1p((large - 1) * (large + 1) + small * small) : ::log(r);
  return {real, ::atan2(z.im, z.re)};
}
UT_DEVICE Z sqrt(Z z) {
  if (z.re == 0 && z.im == 0) return {0, z.im};
  if (is_inf(z.im)) return {Limits<double>::infinity(), z.im};
  double x = ::fabs(z.re), scale = 1;
  if (x > 1e300 || ::fabs(z.im) > 1e300) x *= 0.0625, z = {z.re * 0.0625, z.im * 0.0625}, scale = 4;
  if (x < 1e-290 && ::fabs(z.im) < 1e-290) x *= 0x1p108, z = {z.re * 0x1p108, z.im * 0x1p108}, scale = 0x1p-54;
  double t = ::sqrt(0.5 * (x + ::hypot(x, z.im))), other = z.im / (2 * t);
  return z.re >= 0 ? Z(t * scale, other * scale) : Z(::fabs(other) * scale, ::copysign(t, z.im) * scale);
}
UT_DEVICE Z sinh(Z z) {
  double s, c;
  ::sincos(z.im, &s, &c);
  return {::sinh(z.re) * c, z.im == 0 ? z.im : ::cosh(z.re) * s};
}
UT_DEVICE Z cosh(Z z) {
  double s, c;
  ::sincos(z.im, &s, &c);
  return {::cosh(z.re) * c, z.im == 0 ? z.im * ::copysign(1.0, z.re) : ::sinh(z.re) * s};
}
UT_DEVICE Z tanh(Z z) {
  if (::fabs(z.re) > 22) {
    double s, c;
    ::sincos(z.im, &s, &c);
    return {::copysign(1.0, z.re), 4 * s * c * ::exp(-2 * ::fabs(z.re))};
  }
  double t = ::tan(z.im), beta = 1 + t * t, s = ::sinh(z.re), rho = ::sqrt(1 + s * s), d = 1 + beta * s * s;
  return is_inf(t) ? Z(rho / s, 1 / t) : Z(beta * rho * s / d, t / d);
}
UT_DEVICE Z sin(Z z) { return over_i(sinh(times_i(z))); }
UT_DEVICE Z cos(Z z) { return cosh(times_i(z)); }
UT_DEVICE Z tan(Z z) { return over_i(tanh(times_i(z))); }

// Kahan's formulas: no cancellation, right on both sides of the branch cuts.
UT_DEVICE Z asin(Z z) {
  Z a = sqrt(Z(1 - z.re, -z.im)), b = sqrt(Z(1 + z.re, z.im));
  return {::atan2(z.re, (a * b).re), ::asinh((conj(a) * b).im)};
}
UT_DEVICE Z acos(Z z) {
  Z a = sqrt(Z(1 - z.re, -z.im)), b = sqrt(Z(1 + z.re, z.im));
  return {2 * ::atan2(a.re, b.re), ::asinh((conj(b) * a).im)};
}
UT_DEVICE Z acosh(Z z) {
  Z a = sqrt(Z(z.re - 1, z.im)), b = sqrt(Z(z.re + 1, z.im));
  return {::asinh((conj(a) * b).re), 2 * ::atan2(a.im, b.re)};
}
UT_DEVICE Z atanh(Z z) {
  double x = z.re, y = z.im;
  if (::fabs(x) > 1e150 || ::fabs(y) > 1e150)
    return {(is_inf(x) || is_inf(y)) ? ::copysign(0.0, x) : (Z(1) / z).re, ::copysign(1.57079632679489661923, y)};
  return {0.25 * ::log1p(4 * x / ((1 - x) * (1 - x) + y * y)), 0.5 * ::atan2(2 * y, (1 - x) * (1 + x) - y * y)};
}
UT_DEVICE Z asinh(Z z) { return over_i(asin(times_i(z))); }
UT_DEVICE Z atan(Z z) { return over_i(atanh(times_i(z))); }

UT_DEVICE Z log10(Z z) { return log(z) * Z(0.43429448190325182765); }
UT_DEVICE Z log2(Z z) { return log(z) * Z(1.4426950408889634074); }
UT_DEVICE Z exp2(Z z) { return exp(z * Z(0.6931471805599453094)); }
UT_DEVICE Z expm1(Z z) {
  double half = ::sin(z.im / 2);
  return {::expm1(z.re) * ::cos(z.im) - 2 * half * half, ::exp(z.re) * ::sin(z.im)};
}
UT_DEVICE Z log1p(Z z) {
  double x = z.re, y = z.im, theta = ::atan2(y, x + 1);
  if (::hypot(x, y) >= 0.5) return {::log(::hypot(x + 1, y)), theta};
  double r = x * (2 + x) + y * y;
  return {r == 0 ? x : 0.5 * ::log1p(r), theta};
}
UT_DEVICE Z sigmoid(Z z) { return Z(1) / (Z(1) + exp(-z)); }
UT_DEVICE Z silu(Z z) { return z * sigmoid(z); }
UT_DEVICE Z rsqrt(Z z) { return Z(1) / sqrt(z); }
UT_DEVICE Z sinc(Z z) {
  Z angle = z * Z(3.14159265358979323846);
  return z == Z(0) ? Z(1) : sin(angle) / angle;
}
UT_DEVICE Z pow(Z x, Z y) {
  if (y == Z(0)) return Z(1);
  if (x == Z(0)) return y.re > 0 ? Z(0) : Z(Limits<double>::nan(), Limits<double>::nan());
  return exp(y * log(x));
}
UT_DEVICE Z logaddexp(Z a, Z b) {
  Z low = a.re < b.re ? a : b, high = a.re < b.re ? b : a;
  if (is_nan(a) || is_nan(b)) return {Limits<double>::nan(), Limits<double>::nan()};
  if (!is_finite(low.re) && low.re == high.re) return low.re < 0 ? low : log(exp(low) + exp(high));
  return log1p(exp(low - high)) + high;
}

}  // namespace wide

#define UT_COMPLEX1(name)                   \
  template <class R>                        \
  UT_DEVICE Complex<R> name(Complex<R> z) { \
    return Complex<R>(wide::name(Z(z)));    \
  }
UT_COMPLEX1(exp)
UT_COMPLEX1(log)
UT_COMPLEX1(log10)
UT_COMPLEX1(log2)
UT_COMPLEX1(log1p)
UT_COMPLEX1(exp2)
UT_COMPLEX1(expm1)
UT_COMPLEX1(sqrt)
UT_COMPLEX1(rsqrt)
UT_COMPLEX1(sin)
UT_COMPLEX1(cos)
UT_COMPLEX1(tan)
UT_COMPLEX1(sinh)
UT_COMPLEX1(cosh)
UT_COMPLEX1(tanh)
UT_COMPLEX1(asin)
UT_COMPLEX1(acos)
UT_COMPLEX1(atan)
UT_COMPLEX1(asinh)
UT_COMPLEX1(acosh)
UT_COMPLEX1(atanh)
UT_COMPLEX1(sigmoid)
UT_COMPLEX1(silu)
UT_COMPLEX1(sinc)
#undef UT_COMPLEX1
template <class R>
UT_DEVICE Complex<R> pow_of(Complex<R> x, Complex<R> y) {
  return Complex<R>(wide::pow(Z(x), Z(y)));
}
template <class R>
UT_DEVICE Complex<R> logaddexp(Complex<R> a, Complex<R> b) {
  return Complex<R>(wide::logaddexp(Z(a), Z(b)));
}
template <class R>
UT_DEVICE Complex<R> logaddexp2(Complex<R> a, Complex<R> b) {
  const Z ln2(0.6931471805599453094);
  return Complex<R>(wide::logaddexp(Z(a) * ln2, Z(b) * ln2) * Z(1.4426950408889634074));
}

}  // namespace undertow::scalar_math
