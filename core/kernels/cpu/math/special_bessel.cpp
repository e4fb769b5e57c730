// special_bessel.cpp: modified Bessel functions and the small functions of special_math.h (sinc, xlogy, entr).
#include <cmath>
#include <limits>
#include <numbers>

#include "core/kernels/cpu/math/special_math.h"

namespace undertow::core::special {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kAsymptoticFrom = 20.0;

// The sum over k of (x*x/4)^k / (k! (k + order)!): all terms are positive, so there is no cancellation.
double power_series(double x, int order) {
  const double quarter = 0.25 * x * x;
  double term = 1.0, sum = 1.0;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// e^-x I(order, x) for large x: 1 - (m-1)/(8x) + (m-1)(m-9)/(2! (8x)^2) - ..., with m = 4 order^2, divided by sqrt(2 pi
// x).
double asymptotic_scaled(double x, int order) {
  const double m = 4.0 * order * order;
  double term = 1.0, sum = 1.0;
  for (int k = 1; k <= 30 && std::fabs(term) > 1e-17; ++k) {
    const double odd = 2.0 * k - 1.0;
    term *= -(m - odd * odd) / (8.0 * x * k);
    sum += term;
  }
  return sum / std::sqrt(2.0 * std::numbers::pi * x);
}

}  // namespace

double i0(double x) noexcept {
  const double a = std::fabs(x);
  if (!(a > kAsymptoticFrom)) return power_series(a, 0);
  return std::exp(a) * asymptotic_scaled(a, 0);
}

double i0e(double x) noexcept {
  const double a = std::fabs(x);
  if (!(a > kAsymptoticFrom)) return std::exp(-a) * power_series(a, 0);
  return asymptotic_scaled(a, 0);
}

double i1(double x) noexcept {
  const double a = std::fabs(x);
  if (!(a > kAsymptoticFrom)) return 0.5 * x * power_series(a, 1);
  return std::copysign(std::exp(a) * asymptotic_scaled(a, 1), x);
}

double i1e(double x) noexcept {
  const double a = std::fabs(x);
  if (!(a > kAsymptoticFrom)) return std::exp(-a) * (0.5 * x * power_series(a, 1));
  return std::copysign(asymptotic_scaled(a, 1), x);
}

double sinc(double x) noexcept {
  if (x == 0.0) return 1.0;
  const double angle = std::numbers::pi * x;
  return std::sin(angle) / angle;
}

double xlogy(double x, double y) noexcept {
  if (std::isnan(y)) return y;
  return x == 0.0 ? 0.0 : x * std::log(y);
}

double xlog1py(double x, double y) noexcept {
  if (std::isnan(y)) return y;
  return x == 0.0 ? 0.0 : x * std::log1p(y);
}

double entr(double x) noexcept {
  if (std::isnan(x)) return x;
  if (x > 0.0) return -x * std::log(x);
  return x == 0.0 ? 0.0 : -kInf;
}

}  // namespace undertow::core::special
