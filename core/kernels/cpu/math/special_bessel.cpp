// special_bessel.cpp: modified Bessel functions and the small functions of special_math.h (xlogy, entr).
#include <cmath>
#include <limits>
#include <numbers>

#include "core/kernels/cpu/math/piecewise.h"
#include "core/kernels/cpu/math/special_arrays.h"
#include "core/kernels/cpu/math/special_math.h"

namespace undertow::core::special {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kAsymptoticFrom = 24;  // where its terms fall below 1e-21

// The sum over k of (x*x/4)^k / (k! (k + order)!): all terms are positive, so there is no cancellation.
long double power_series(long double x, int order) {
  const long double quarter = 0.25L * x * x;
  long double term = 1, sum = 1;
  for (int k = 1; term > 1e-21L * sum; ++k) {
    term *= quarter / (static_cast<long double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// e^-x I(order, x) for large x: 1 - (m-1)/(8x) + (m-1)(m-9)/(2! (8x)^2) - ..., with m = 4 order^2, divided by sqrt(2 pi
// x).
long double asymptotic_scaled(long double x, int order) {
  const long double m = 4 * order * order;
  long double term = 1, sum = 1;
  for (int k = 1; k <= 30 && std::fabs(term) > 1e-21L; ++k) {
    const long double odd = 2 * k - 1;
    term *= -(m - odd * odd) / (8 * x * k);
    sum += term;
  }
  return sum / std::sqrt(2 * std::numbers::pi_v<long double> * x);
}

// The definitions, for arguments >= 0: i0e, and i1e divided by its argument.
long double slow_i0e(long double a) {
  if (!(a > kAsymptoticFrom)) return std::exp(-a) * power_series(a, 0);
  return asymptotic_scaled(a, 0);
}
long double slow_i1e_ratio(long double a) {
  if (!(a > kAsymptoticFrom)) return std::exp(-a) * (0.5L * power_series(a, 1));
  return asymptotic_scaled(a, 1) / a;
}

}  // namespace

const Piecewise& i0e_table() {
  static const Piecewise table(slow_i0e, {.from = 0, .to = 255, .shift = 1, .bits = 3});
  return table;
}
const Piecewise& i1e_table() {
  static const Piecewise table(slow_i1e_ratio, {.from = 0, .to = 255, .shift = 1, .bits = 3});
  return table;
}

double i0e(double x) noexcept { return i0e_table()(std::fabs(x)); }
double i1e(double x) noexcept { return std::isinf(x) ? std::copysign(0.0, x) : x * i1e_table()(std::fabs(x)); }
double i0(double x) noexcept { return std::exp(std::fabs(x)) * i0e(x); }
double i1(double x) noexcept { return std::exp(std::fabs(x)) * i1e(x); }

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
