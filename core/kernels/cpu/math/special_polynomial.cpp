// special_polynomial.cpp: the orthogonal polynomials declared in special_double.h, by their three-term recurrences.
// build: small
#include <algorithm>
#include <cmath>

#include "core/base/signals.h"
#include "core/kernels/cpu/math/special_double.h"

namespace undertow::core::special {

namespace {

// Note [Huge Degrees]
// A recurrence takes one step per degree. Above this degree the closed form is used where there is one, and otherwise
// Hilb's formula with the Bessel functions J0 (where the polynomial oscillates) and I0, whose relative error is about
// 1 / degree. So no degree takes longer than this one.
constexpr int64_t kMostSteps = int64_t{1} << 20;

// p(0) = 1, p(1) = first, then p(k + 1) = next(k, p(k), p(k - 1)). Stops early at NaN.
template <class Next>
double recurrence(int64_t degree, double first, Next&& next) {
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  double before = 1, now = first;
  for (int64_t k = 1;;) {
    const int64_t end = std::min(degree, k + 65535);
    for (; k < end; ++k) {
      const double after = next(static_cast<double>(k), now, before);
      before = now, now = after;
    }
    if (k == degree || std::isnan(now)) return now;
    poll_signals();
  }
}

bool is_even(int64_t degree) { return degree % 2 == 0; }

// All four kinds of Chebyshev polynomials share the recurrence 2x p(k) - p(k - 1); inside (-1, 1) high degrees are
// computed as a cosine or sine, which rounds better and takes no longer.
double chebyshev(double x, int64_t degree, double first) {
  return recurrence(degree, first, [x](double, double now, double before) { return 2 * x * now - before; });
}

// The four kinds at x > 1 for high degrees, where x is the hyperbolic cosine of t.
double steep_t(double x, int64_t n) { return std::cosh(static_cast<double>(n) * std::acosh(x)); }
double steep_u(double x, int64_t n) {
  const double t = std::acosh(x);
  return std::sinh((static_cast<double>(n) + 1) * t) / std::sinh(t);
}
double steep_v(double x, int64_t n) {
  const double t = std::acosh(x);
  return std::cosh((static_cast<double>(n) + 0.5) * t) / std::cosh(t / 2);
}
double steep_w(double x, int64_t n) {
  const double t = std::acosh(x);
  return std::sinh((static_cast<double>(n) + 0.5) * t) / std::sinh(t / 2);
}
// At x < -1, where kinds 3 and 4 change places.
double steep(double x, int64_t n, double (*above)(double, int64_t), double (*below)(double, int64_t)) {
  if (std::isnan(x)) return x;
  if (x > 0) return above(x, n);
  return is_even(n) ? below(-x, n) : -below(-x, n);
}

double chebyshev_t(double x, int64_t n) {
  if (n > 6 && std::fabs(x) < 1) return std::cos(static_cast<double>(n) * std::acos(x));
  if (n > 0 && std::fabs(x) == 1) return x > 0 || is_even(n) ? 1 : -1;
  if (n > kMostSteps) return steep(x, n, steep_t, steep_t);
  return chebyshev(x, n, x);
}
double chebyshev_u(double x, int64_t n) {
  const double m = static_cast<double>(n) + 1;
  if (n > 8 && std::fabs(x) < 1) return std::sin(m * std::acos(x)) / std::sin(std::acos(x));
  if (n > 0 && std::fabs(x) == 1) return x > 0 || is_even(n) ? m : -m;
  if (n > kMostSteps) return steep(x, n, steep_u, steep_u);
  return chebyshev(x, n, 2 * x);
}
double chebyshev_v(double x, int64_t n) {
  const double m = static_cast<double>(n) + 0.5;
  if (n > 8 && std::fabs(x) < 1) return std::cos(m * std::acos(x)) / std::cos(0.5 * std::acos(x));
  if (n > 0 && std::fabs(x) == 1) return x > 0 ? 1 : is_even(n) ? 2 * m : -2 * m;
  if (n > kMostSteps) return steep(x, n, steep_v, steep_w);
  return chebyshev(x, n, 2 * x - 1);
}
double chebyshev_w(double x, int64_t n) {
  const double m = static_cast<double>(n) + 0.5;
  if (n > 8 && std::fabs(x) < 1) return std::sin(m * std::acos(x)) / std::sin(0.5 * std::acos(x));
  if (n > 0 && std::fabs(x) == 1) return x > 0 ? 2 * m : is_even(n) ? 1 : -1;
  if (n > kMostSteps) return steep(x, n, steep_w, steep_v);
  return chebyshev(x, n, 2 * x + 1);
}
template <Polynomial P>
double shifted(double x, int64_t n) {
  return P(2 * x - 1, n);
}

double bessel_0(double v, bool oscillates) {
  static const OneFunction j0 = one_function("bessel_j0"), i0 = one_function("modified_bessel_i0");
  if (!std::isfinite(v)) return oscillates ? 0 : v;
  return oscillates ? j0(v) : i0(v);
}

double hermite_h(double x, int64_t n) {
  return recurrence(n, 2 * x, [x](double k, double now, double before) { return 2 * x * now - 2 * k * before; });
}
double hermite_he(double x, int64_t n) {
  return recurrence(n, x, [x](double k, double now, double before) { return x * now - k * before; });
}
double laguerre_l(double x, int64_t n) {
  if (n > 0 && x == 0) return 1;
  if (n > kMostSteps)
    return std::exp(x / 2) * bessel_0(2 * std::sqrt((static_cast<double>(n) + 0.5) * std::fabs(x)), x > 0);
  return recurrence(
      n, 1 - x, [x](double k, double now, double before) { return ((2 * k + 1 - x) * now - k * before) / (k + 1); });
}
double legendre_p(double x, int64_t n) {
  if (n > 0 && std::fabs(x) == 1) return x > 0 || is_even(n) ? 1 : -1;
  if (n > kMostSteps) {
    const bool waves = std::fabs(x) < 1;
    const double angle = waves ? std::acos(std::fabs(x)) : std::acosh(std::fabs(x));
    const double side = waves ? std::sin(angle) : std::sinh(angle);
    const double value = std::sqrt(angle / side) * bessel_0((static_cast<double>(n) + 0.5) * angle, waves);
    return x > 0 || is_even(n) ? value : -value;
  }
  return recurrence(
      n, x, [x](double k, double now, double before) { return ((2 * k + 1) * x * now - k * before) / (k + 1); });
}

struct Named {
  std::string_view name;
  Polynomial function;
};
constexpr Named kPolynomials[] = {
    {"chebyshev_polynomial_t", chebyshev_t},
    {"chebyshev_polynomial_u", chebyshev_u},
    {"chebyshev_polynomial_v", chebyshev_v},
    {"chebyshev_polynomial_w", chebyshev_w},
    {"hermite_polynomial_h", hermite_h},
    {"hermite_polynomial_he", hermite_he},
    {"laguerre_polynomial_l", laguerre_l},
    {"legendre_polynomial_p", legendre_p},
    {"shifted_chebyshev_polynomial_t", shifted<chebyshev_t>},
    {"shifted_chebyshev_polynomial_u", shifted<chebyshev_u>},
    {"shifted_chebyshev_polynomial_v", shifted<chebyshev_v>},
    {"shifted_chebyshev_polynomial_w", shifted<chebyshev_w>},
};

}  // namespace

Polynomial polynomial(std::string_view name) {
  for (const Named& p : kPolynomials)
    if (p.name == name) return p.function;
  return nullptr;
}

}  // namespace undertow::core::special
