// special_polynomial.cuh: orthogonal polynomials by their recurrences: the device's side of
// core/kernels/cpu/math/special_polynomial.cpp. See Note [Huge Degrees] there.
#pragma once
#include "pointwise/special_cylinder.cuh"

namespace undertow::special {

inline constexpr int64_t kMostSteps = 1ll << 20;

// p(0) = 1, p(1) = first, then p(k + 1) = next(k, p(k), p(k - 1)). Stops early at NaN.
template <class Next>
UT_DEVICE double recurrence(int64_t degree, double first, Next next) {
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  double before = 1, now = first;
  for (int64_t k = 1; k < degree && !is_nan(now); ++k) {
    const double after = next(static_cast<double>(k), now, before);
    before = now, now = after;
  }
  return now;
}
UT_DEVICE bool is_even(int64_t degree) { return degree % 2 == 0; }

UT_DEVICE double chebyshev(double x, int64_t degree, double first) {
  return recurrence(degree, first, [x](double, double now, double before) { return 2 * x * now - before; });
}
// The four kinds at x > 1 for high degrees, where x is the hyperbolic cosine of t.
enum class Kind { T, U, V, W };
UT_SPECIAL double steep_above(Kind kind, double x, int64_t n) {
  const double t = ::acosh(x), m = static_cast<double>(n);
  switch (kind) {
    case Kind::T:
      return ::cosh(m * t);
    case Kind::U:
      return ::sinh((m + 1) * t) / ::sinh(t);
    case Kind::V:
      return ::cosh((m + 0.5) * t) / ::cosh(t / 2);
    default:
      return ::sinh((m + 0.5) * t) / ::sinh(t / 2);
  }
}
// At x < -1, where kinds 3 and 4 change places.
UT_DEVICE double steep(double x, int64_t n, Kind above, Kind below) {
  if (is_nan(x)) return x;
  if (x > 0) return steep_above(above, x, n);
  return is_even(n) ? steep_above(below, -x, n) : -steep_above(below, -x, n);
}

UT_SPECIAL double chebyshev_polynomial_t(double x, int64_t n) {
  if (n > 6 && ::fabs(x) < 1) return ::cos(static_cast<double>(n) * ::acos(x));
  if (n > 0 && ::fabs(x) == 1) return x > 0 || is_even(n) ? 1 : -1;
  return n > kMostSteps ? steep(x, n, Kind::T, Kind::T) : chebyshev(x, n, x);
}
UT_SPECIAL double chebyshev_polynomial_u(double x, int64_t n) {
  const double m = static_cast<double>(n) + 1;
  if (n > 8 && ::fabs(x) < 1) return ::sin(m * ::acos(x)) / ::sin(::acos(x));
  if (n > 0 && ::fabs(x) == 1) return x > 0 || is_even(n) ? m : -m;
  return n > kMostSteps ? steep(x, n, Kind::U, Kind::U) : chebyshev(x, n, 2 * x);
}
UT_SPECIAL double chebyshev_polynomial_v(double x, int64_t n) {
  const double m = static_cast<double>(n) + 0.5;
  if (n > 8 && ::fabs(x) < 1) return ::cos(m * ::acos(x)) / ::cos(0.5 * ::acos(x));
  if (n > 0 && ::fabs(x) == 1) return x > 0 ? 1 : is_even(n) ? 2 * m : -2 * m;
  return n > kMostSteps ? steep(x, n, Kind::V, Kind::W) : chebyshev(x, n, 2 * x - 1);
}
UT_SPECIAL double chebyshev_polynomial_w(double x, int64_t n) {
  const double m = static_cast<double>(n) + 0.5;
  if (n > 8 && ::fabs(x) < 1) return ::sin(m * ::acos(x)) / ::sin(0.5 * ::acos(x));
  if (n > 0 && ::fabs(x) == 1) return x > 0 ? 2 * m : is_even(n) ? 1 : -1;
  return n > kMostSteps ? steep(x, n, Kind::W, Kind::V) : chebyshev(x, n, 2 * x + 1);
}
UT_SPECIAL double shifted_chebyshev_polynomial_t(double x, int64_t n) { return chebyshev_polynomial_t(2 * x - 1, n); }
UT_SPECIAL double shifted_chebyshev_polynomial_u(double x, int64_t n) { return chebyshev_polynomial_u(2 * x - 1, n); }
UT_SPECIAL double shifted_chebyshev_polynomial_v(double x, int64_t n) { return chebyshev_polynomial_v(2 * x - 1, n); }
UT_SPECIAL double shifted_chebyshev_polynomial_w(double x, int64_t n) { return chebyshev_polynomial_w(2 * x - 1, n); }

UT_DEVICE double bessel_0(double v, bool oscillates) {
  if (!scalar_math::is_finite(v)) return oscillates ? 0 : v;
  return oscillates ? bessel_j0(v) : modified_bessel_i0(v);
}

UT_SPECIAL double hermite_polynomial_h(double x, int64_t n) {
  return recurrence(n, 2 * x, [x](double k, double now, double before) { return 2 * x * now - 2 * k * before; });
}
UT_SPECIAL double hermite_polynomial_he(double x, int64_t n) {
  return recurrence(n, x, [x](double k, double now, double before) { return x * now - k * before; });
}
UT_SPECIAL double laguerre_polynomial_l(double x, int64_t n) {
  if (n > 0 && x == 0) return 1;
  if (n > kMostSteps) return ::exp(x / 2) * bessel_0(2 * ::sqrt((static_cast<double>(n) + 0.5) * ::fabs(x)), x > 0);
  return recurrence(
      n, 1 - x, [x](double k, double now, double before) { return ((2 * k + 1 - x) * now - k * before) / (k + 1); });
}
UT_SPECIAL double legendre_polynomial_p(double x, int64_t n) {
  if (n > 0 && ::fabs(x) == 1) return x > 0 || is_even(n) ? 1 : -1;
  if (n > kMostSteps) {
    const bool waves = ::fabs(x) < 1;
    const double angle = waves ? ::acos(::fabs(x)) : ::acosh(::fabs(x));
    const double side = waves ? ::sin(angle) : ::sinh(angle);
    const double value = ::sqrt(angle / side) * bessel_0((static_cast<double>(n) + 0.5) * angle, waves);
    return x > 0 || is_even(n) ? value : -value;
  }
  return recurrence(
      n, x, [x](double k, double now, double before) { return ((2 * k + 1) * x * now - k * before) / (k + 1); });
}

}  // namespace undertow::special

// Degrees are rounded towards zero; NaN is not a valid one.
template <double (*f)(double, int64_t)>
__global__ void special_polynomial(char* out, char* x, char* degrees, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    double degree = reinterpret_cast<const double*>(degrees)[i];
    int64_t whole = degree != degree ? -1 : static_cast<int64_t>(::fmax(-1.0, ::fmin(degree, 9e18)));
    reinterpret_cast<double*>(out)[i] = f(reinterpret_cast<const double*>(x)[i], whole);
  }
}
