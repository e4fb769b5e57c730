// special_math.cuh: the special functions that are computed one element at a time, in double for every dtype: the
// device's side of core/kernels/cpu/math/special_math.h, with the same series. Not inlined: an unrolled loop would
// contain each many times.
#pragma once
#include "device/scalar_math.cuh"

namespace undertow::special {

using scalar_math::is_inf;
using scalar_math::is_nan;

#define UT_SPECIAL __device__ __noinline__ inline

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kGammaFrom = 12.0, kBesselFrom = 20.0;
UT_DEVICE double infinity() { return Limits<double>::infinity(); }
UT_DEVICE double nan() { return Limits<double>::nan(); }

// B_2, B_4, ...
UT_DEVICE double bernoulli(int k) {
  constexpr double numbers[] = {1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};
  return numbers[k];
}

UT_SPECIAL double lgamma(double x) { return ::lgamma(x); }

UT_DEVICE double digamma_above_zero(double x) {
  double sum = 0.0;
  for (; x < kGammaFrom; x += 1.0) sum -= 1.0 / x;
  const double inverse_square = 1.0 / (x * x);
  double series = 0.0;
  for (int k = 8; k-- > 0;) series = inverse_square * (bernoulli(k) / (2.0 * (k + 1)) + series);
  return sum + (::log(x) - 0.5 / x - series);
}
UT_SPECIAL double digamma(double x) {
  if (x == 0.0) return ::copysign(infinity(), -x);
  if (!(x < 0.0)) return digamma_above_zero(x);
  const double whole = ::trunc(x);
  return x == whole ? nan() : digamma_above_zero(1.0 - x) - kPi / ::tan(kPi * (x - whole));
}

UT_DEVICE double trigamma_above_half(double x) {
  double sum = 0.0;
  for (; x < kGammaFrom; x += 1.0) sum += 1.0 / (x * x);
  const double inverse_square = 1.0 / (x * x);
  double series = 0.0;
  for (int k = 8; k-- > 0;) series = inverse_square * (bernoulli(k) + series);
  return sum + (1.0 + 0.5 / x + series) / x;
}
UT_SPECIAL double trigamma(double x) {
  if (!(x < 0.5)) return trigamma_above_half(x);
  const double sine = ::sin(kPi * x);
  return kPi * kPi / (sine * sine) - trigamma_above_half(1.0 - x);
}

// Euler-Maclaurin: the first terms directly, then the integral, half a term and the Bernoulli corrections.
UT_SPECIAL double zeta(double x, double q) {
  if (x == 1.0) return infinity();
  if (x < 1.0 || is_nan(x) || is_nan(q)) return nan();
  if (q <= 0.0) {
    if (q == ::floor(q)) return infinity();
    if (x != ::floor(x)) return nan();
  }
  double sum = 0.0, a = q;
  for (int k = 0; k < 10 || a < kGammaFrom; ++k, a += 1.0) {
    const double term = ::pow(a, -x);
    sum += term;
    if (a > 0.0 && ::fabs(term) * (1.0 + a / (x - 1.0)) < 1e-17 * ::fabs(sum)) return sum;
  }
  const double last = ::pow(a, -x);
  sum += last * a / (x - 1.0) + 0.5 * last;
  double factor = x * last / a, factorial = 2.0;
  for (int k = 0; k < 12; ++k) {
    const double term = bernoulli(k) / factorial * factor;
    sum += term;
    if (::fabs(term) < 1e-17 * ::fabs(sum)) break;
    factor *= (x + 2.0 * k + 1.0) * (x + 2.0 * k + 2.0) / (a * a);
    factorial *= (2.0 * k + 3.0) * (2.0 * k + 4.0);
  }
  return sum;
}
UT_SPECIAL double polygamma(int order, double x) {
  if (order == 0) return digamma(x);
  if (order == 1) return trigamma(x);
  const double factorial = ::exp(lgamma(order + 1.0));
  return (order % 2 == 0 ? -factorial : factorial) * zeta(order + 1.0, x);
}

inline constexpr int kMaxSteps = 100000;

// x^a e^-x / Gamma(a). For large a by Stirling's series around x = a, where the plain logarithms would cancel.
UT_DEVICE double gamma_front(double a, double x) {
  if (a < 20) return ::exp(a * ::log(x) - x - lgamma(a));
  double off = (x - a) / a, square = a * a;
  double series = (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - 1 / (1680 * square)) / square) / square) / a;
  return ::exp(a * (::log1p(off) - off) - series) * ::sqrt(a / (2 * kPi));
}
UT_SPECIAL double gamma_lower_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kMaxSteps && term > sum * Limits<double>::epsilon(); n++) {
    term *= x / (a + n);
    sum += term;
  }
  return gamma_front(a, x) * sum;
}
// Evaluated forwards by Lentz's method.
UT_SPECIAL double gamma_upper_fraction(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, value = d;
  for (int n = 1; n < kMaxSteps; n++) {
    double an = n * (a - n);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    if (::fabs(d) < tiny) d = tiny;
    if (::fabs(c) < tiny) c = tiny;
    d = 1 / d;
    double step = c * d;
    value *= step;
    if (::fabs(step - 1) < Limits<double>::epsilon()) break;
  }
  return gamma_front(a, x) * value;
}
// P at the edges of its domain, where it is known without computation; negative elsewhere.
UT_DEVICE double gamma_edge(double a, double x) {
  if (is_nan(a) || is_nan(x) || a < 0 || x < 0) return nan();
  if (a == 0) return x > 0 ? 1 : nan();
  if (x == 0) return 0;
  if (is_inf(a)) return is_inf(x) ? nan() : 0;
  return is_inf(x) ? 1 : -1;
}
UT_SPECIAL double igamma(double a, double x) {
  double known = gamma_edge(a, x);
  if (!(known < 0)) return known;
  return x > 1 && x > a ? 1 - gamma_upper_fraction(a, x) : gamma_lower_series(a, x);
}
UT_SPECIAL double igammac(double a, double x) {
  double known = gamma_edge(a, x);
  if (!(known < 0)) return 1 - known;
  return x < 1 || x < a ? 1 - gamma_lower_series(a, x) : gamma_upper_fraction(a, x);
}

UT_SPECIAL double erfcx(double x) { return ::erfcx(x); }
UT_SPECIAL double log_ndtr(double x) {
  const double t = x * 0.70710678118654752440;
  if (x < -1.0) return ::log(0.5 * erfcx(-t)) - 0.5 * x * x;
  return ::log1p(-0.5 * ::erfc(t));
}

// The sum over k of (x*x/4)^k / (k! (k + order)!): all terms are positive, so there is no cancellation.
UT_SPECIAL double bessel_power_series(double x, int order) {
  const double quarter = 0.25 * x * x;
  double term = 1.0, sum = 1.0;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}
// e^-x I(order, x) for large x.
UT_SPECIAL double bessel_asymptotic(double x, int order) {
  const double m = 4.0 * order * order;
  double term = 1.0, sum = 1.0;
  for (int k = 1; k <= 30 && ::fabs(term) > 1e-17; ++k) {
    const double odd = 2.0 * k - 1.0;
    term *= -(m - odd * odd) / (8.0 * x * k);
    sum += term;
  }
  return sum / ::sqrt(2.0 * kPi * x);
}
UT_DEVICE double i0(double x) {
  const double a = ::fabs(x);
  return a > kBesselFrom ? ::exp(a) * bessel_asymptotic(a, 0) : bessel_power_series(a, 0);
}
UT_DEVICE double i0e(double x) {
  const double a = ::fabs(x);
  return a > kBesselFrom ? bessel_asymptotic(a, 0) : ::exp(-a) * bessel_power_series(a, 0);
}
UT_DEVICE double i1(double x) {
  const double a = ::fabs(x);
  return a > kBesselFrom ? ::copysign(::exp(a) * bessel_asymptotic(a, 1), x) : 0.5 * x * bessel_power_series(a, 1);
}
UT_DEVICE double i1e(double x) {
  const double a = ::fabs(x);
  return a > kBesselFrom ? ::copysign(bessel_asymptotic(a, 1), x) : ::exp(-a) * (0.5 * x * bessel_power_series(a, 1));
}

UT_DEVICE double entr(double x) {
  if (is_nan(x)) return x;
  if (x > 0.0) return -x * ::log(x);
  return x == 0.0 ? 0.0 : -infinity();
}

#define UT_SPECIAL_FLOAT(name) \
  UT_DEVICE float name(float x) { return static_cast<float>(name(static_cast<double>(x))); }
#define UT_SPECIAL_FLOAT2(name)                                                      \
  UT_DEVICE float name(float x, float y) {                                           \
    return static_cast<float>(name(static_cast<double>(x), static_cast<double>(y))); \
  }
UT_SPECIAL_FLOAT(lgamma)
UT_SPECIAL_FLOAT(digamma)
UT_SPECIAL_FLOAT(trigamma)
UT_DEVICE float polygamma(int order, float x) { return static_cast<float>(polygamma(order, static_cast<double>(x))); }
UT_SPECIAL_FLOAT2(zeta)
UT_SPECIAL_FLOAT2(igamma)
UT_SPECIAL_FLOAT2(igammac)
UT_SPECIAL_FLOAT(erfcx)
UT_SPECIAL_FLOAT(log_ndtr)
UT_SPECIAL_FLOAT(i0)
UT_SPECIAL_FLOAT(i0e)
UT_SPECIAL_FLOAT(i1)
UT_SPECIAL_FLOAT(i1e)
UT_SPECIAL_FLOAT(entr)
#undef UT_SPECIAL_FLOAT
#undef UT_SPECIAL_FLOAT2

}  // namespace undertow::special
