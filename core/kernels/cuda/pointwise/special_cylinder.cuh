// special_cylinder.cuh: the Bessel functions of both kinds and the Airy function: the device's side of
// core/kernels/cpu/math/special_cylinder.cpp, with the same methods.
#pragma once
#include "device/special_math.cuh"

namespace undertow::special {

inline constexpr double kEulerGamma = 0.57721566490153286061;

UT_SPECIAL double bessel_j0(double x) { return is_inf(x) ? nan() : ::j0(x); }
UT_SPECIAL double bessel_j1(double x) { return is_inf(x) ? nan() : ::j1(x); }
UT_SPECIAL double bessel_y0(double x) { return x == 0 ? -infinity() : x < 0 || is_inf(x) ? nan() : ::y0(x); }
UT_SPECIAL double bessel_y1(double x) { return x == 0 ? -infinity() : x < 0 || is_inf(x) ? nan() : ::y1(x); }
UT_SPECIAL double spherical_bessel_j0(double x) {
  if (is_inf(x)) return 0;
  return x == 0 ? 1 : ::sin(x) / x;
}
UT_SPECIAL double modified_bessel_i0(double x) { return i0(x); }
UT_SPECIAL double modified_bessel_i1(double x) { return x == 0 ? 0 : i1(x); }

// e^x K(order, x) by the trapezoidal rule.
UT_SPECIAL double scaled_k(double order, double x) {
  const double step = ::fmin(0.5 / ::sqrt(x), 0.125), end = ::acosh(1 + 42 / x);
  double sum = 0.5;
  for (double t = step; t < end; t += step) {
    const double half = ::sinh(0.5 * t);
    sum += ::exp(-2 * x * half * half) * ::cosh(order * t);
  }
  return sum * step;
}
// For x up to 2.
UT_SPECIAL double small_k0(double x) {
  const double quarter = 0.25 * x * x;
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 24; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  return sum - (::log(0.5 * x) + kEulerGamma) * i0(x);
}
UT_SPECIAL double small_k1(double x) {
  const double quarter = 0.25 * x * x;
  double term = 1, digammas = 1 - 2 * kEulerGamma, sum = digammas;  // psi(k + 1) + psi(k + 2)
  for (int k = 1; k < 24; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + 1));
    digammas += 1.0 / k + 1.0 / (k + 1);
    sum += term * digammas;
  }
  return 1 / x + ::log(0.5 * x) * i1(x) - 0.25 * x * sum;
}
UT_DEVICE double scaled_modified_bessel_k(int order, double x) {
  if (x == 0) return infinity();
  if (!(x > 0)) return nan();
  if (is_inf(x)) return 0;
  if (x <= 2) return ::exp(x) * (order == 0 ? small_k0(x) : small_k1(x));
  return scaled_k(order, x);
}
UT_SPECIAL double scaled_modified_bessel_k0(double x) { return scaled_modified_bessel_k(0, x); }
UT_SPECIAL double scaled_modified_bessel_k1(double x) { return scaled_modified_bessel_k(1, x); }
UT_SPECIAL double modified_bessel_k0(double x) {
  return x > 2 ? ::exp(-x) * scaled_modified_bessel_k0(x) : x > 0 ? small_k0(x) : x == 0 ? infinity() : nan();
}
UT_SPECIAL double modified_bessel_k1(double x) {
  return x > 2 ? ::exp(-x) * scaled_modified_bessel_k1(x) : x > 0 ? small_k1(x) : x == 0 ? infinity() : nan();
}

// Ai(x) from its value and slope at 0, by Taylor series of y'' = x y in steps of at most 1.
UT_SPECIAL double airy_stepped(double x) {
  double at = 0, y = 0.35502805388781723926, slope = -0.25881940379280679840;
  while (at != x) {
    const double h = ::fmax(-1.0, ::fmin(1.0, x - at));
    double before = 0, c0 = y, c1 = slope, power = h, value = y + slope * h, change = slope;
    for (int n = 0; n < 40; ++n) {
      const double next = (at * c0 + before) / static_cast<double>((n + 2) * (n + 1));
      change += static_cast<double>(n + 2) * next * power;
      power *= h;
      value += next * power;
      before = c0, c0 = c1, c1 = next;
    }
    y = value, slope = change;
    at = h == x - at ? x : at + h;
  }
  return y;
}
UT_SPECIAL double airy_far_left(double z) {
  const double zeta = 2.0 / 3.0 * z * ::sqrt(z);
  double u = 1, p = 0, q = 0;
  for (int k = 0; k < 20; ++k) {
    const double part = k % 4 < 2 ? u : -u;
    (k % 2 == 0 ? p : q) += part;
    u *= (6.0 * k + 5) * (6.0 * k + 3) * (6.0 * k + 1) / (216.0 * (k + 1) * (2 * k + 1) * zeta);
  }
  const double angle = zeta - kPi / 4;
  return (::cos(angle) * p + ::sin(angle) * q) / (::sqrt(kPi) * ::sqrt(::sqrt(z)));
}
UT_SPECIAL double airy_ai(double x) {
  if (is_nan(x) || is_inf(x)) return nan();
  if (x > 103.892) return 0;  // torch's limit: 1e-307
  if (x > 1) {
    const double zeta = 2.0 / 3.0 * x * ::sqrt(x);
    return ::exp(-zeta) * scaled_k(1.0 / 3.0, zeta) * ::sqrt(x / 3) / kPi;
  }
  return x > -12 ? airy_stepped(x) : airy_far_left(-x);
}

}  // namespace undertow::special

template <double (*f)(double)>
__global__ void special_function(char* out, char* x, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count())
    reinterpret_cast<double*>(out)[i] = f(reinterpret_cast<const double*>(x)[i]);
}
