// special_polynomial.cpp: the orthogonal polynomials declared in special_double.h, by their three-term recurrences.
// build: small
#include <cmath>

#include "core/kernels/cpu/math/special_double.h"

namespace undertow::special {

namespace {

// p(0) = 1, p(1) = first, then p(k + 1) = next(k, p(k), p(k - 1)). Stops early at NaN.
template <class Next>
double recurrence(int64_t degree, double first, Next&& next) {
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  double before = 1, now = first;
  for (int64_t k = 1; k < degree && !std::isnan(now); ++k) {
    const double after = next(static_cast<double>(k), now, before);
    before = now, now = after;
  }
  return now;
}

bool is_even(int64_t degree) { return degree % 2 == 0; }

// All four kinds of Chebyshev polynomials share the recurrence 2x p(k) - p(k - 1); inside (-1, 1) high degrees are
// computed as a cosine or sine, which rounds better and takes no longer.
double chebyshev(double x, int64_t degree, double first) {
  return recurrence(degree, first, [x](double, double now, double before) { return 2 * x * now - before; });
}

double chebyshev_t(double x, int64_t n) {
  if (n > 6 && std::fabs(x) < 1) return std::cos(static_cast<double>(n) * std::acos(x));
  if (n > 0 && std::fabs(x) == 1) return x > 0 || is_even(n) ? 1 : -1;
  return chebyshev(x, n, x);
}
double chebyshev_u(double x, int64_t n) {
  const double m = static_cast<double>(n) + 1;
  if (n > 8 && std::fabs(x) < 1) return std::sin(m * std::acos(x)) / std::sin(std::acos(x));
  if (n > 0 && std::fabs(x) == 1) return x > 0 || is_even(n) ? m : -m;
  return chebyshev(x, n, 2 * x);
}
double chebyshev_v(double x, int64_t n) {
  const double m = static_cast<double>(n) + 0.5;
  if (n > 8 && std::fabs(x) < 1) return std::cos(m * std::acos(x)) / std::cos(0.5 * std::acos(x));
  if (n > 0 && std::fabs(x) == 1) return x > 0 ? 1 : is_even(n) ? 2 * m : -2 * m;
  return chebyshev(x, n, 2 * x - 1);
}
double chebyshev_w(double x, int64_t n) {
  const double m = static_cast<double>(n) + 0.5;
  if (n > 8 && std::fabs(x) < 1) return std::sin(m * std::acos(x)) / std::sin(0.5 * std::acos(x));
  if (n > 0 && std::fabs(x) == 1) return x > 0 ? 2 * m : is_even(n) ? 1 : -1;
  return chebyshev(x, n, 2 * x + 1);
}
template <Polynomial P>
double shifted(double x, int64_t n) {
  return P(2 * x - 1, n);
}

double hermite_h(double x, int64_t n) {
  return recurrence(n, 2 * x, [x](double k, double now, double before) { return 2 * x * now - 2 * k * before; });
}
double hermite_he(double x, int64_t n) {
  return recurrence(n, x, [x](double k, double now, double before) { return x * now - k * before; });
}
double laguerre_l(double x, int64_t n) {
  if (n > 0 && x == 0) return 1;
  return recurrence(
      n, 1 - x, [x](double k, double now, double before) { return ((2 * k + 1 - x) * now - k * before) / (k + 1); });
}
double legendre_p(double x, int64_t n) {
  if (n > 0 && std::fabs(x) == 1) return x > 0 || is_even(n) ? 1 : -1;
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

}  // namespace undertow::special
