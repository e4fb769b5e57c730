// special_gamma.cpp: the gamma functions of special_math.h: lgamma, digamma, polygamma, Hurwitz zeta.
// All but lgamma use the same method: recur upwards until an asymptotic series in Bernoulli numbers is exact to double.
// Those of one argument are tabulated, see piecewise.h.
#include <math.h>  // lgamma_r, which <cmath> does not guarantee

#include <cmath>
#include <limits>
#include <numbers>

#include "core/kernels/cpu/math/piecewise.h"
#include "core/kernels/cpu/math/special_arrays.h"
#include "core/kernels/cpu/math/special_math.h"

namespace undertow::core::special {

namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kAsymptoticFrom = 12.0;

// B_2, B_4, ...
constexpr long double kBernoulli[] = {1.0L / 6,       -1.0L / 30,       1.0L / 42,       -1.0L / 30,
                                      5.0L / 66,      -691.0L / 2730,   7.0L / 6,        -3617.0L / 510,
                                      43867.0L / 798, -174611.0L / 330, 854513.0L / 138, -236364091.0L / 2730};

double libm_lgamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
// The definitions of what is tabulated. lgamma's without its zeros at 1 and 2.
long double lgamma_ratio(long double x) {
  int sign = 0;
  return ::lgammal_r(x, &sign) / ((x - 1) * (x - 2));
}
long double slow_digamma(long double x) {
  long double sum = 0;
  for (; x < kAsymptoticFrom; x += 1) sum -= 1 / x;
  const long double inverse_square = 1 / (x * x);
  long double series = 0;
  for (int k = 12; k-- > 0;) series = inverse_square * (kBernoulli[k] / (2 * (k + 1)) + series);
  return sum + (std::log(x) - 0.5L / x - series);
}
long double slow_trigamma(long double x) {
  long double sum = 0;
  for (; x < kAsymptoticFrom; x += 1) sum += 1 / (x * x);
  const long double inverse_square = 1 / (x * x);
  long double series = 0;
  for (int k = 12; k-- > 0;) series = inverse_square * (kBernoulli[k] + series);
  return sum + (1 + 0.5L / x + series) / x;
}

}  // namespace

const Piecewise& lgamma_table() {
  static const Piecewise table(lgamma_ratio, {.from = 0x1p-24, .to = 0x1p24, .shift = 0, .bits = 3});
  return table;
}
const Piecewise& digamma_table() {
  static const Piecewise table(slow_digamma, {.from = 0x1p-2, .to = 512, .shift = 0, .bits = 3},
                               Piecewise::Zeros::DivideOut);
  return table;
}

double lgamma(double x) noexcept { return libm_lgamma(x); }

double digamma(double x) noexcept {
  if (x == 0.0) return std::copysign(kInf, -x);
  if (x < 0.0) {
    const double whole = std::trunc(x);
    if (x == whole) return kNan;
    return digamma(1.0 - x) - kPi / std::tan(kPi * (x - whole));  // at most one reflection
  }
  return x < 0x1p-2 ? digamma_table()(x + 1.0) - 1.0 / x : digamma_table()(x);
}

double trigamma(double x) noexcept {
  static const Piecewise table(slow_trigamma, {.from = 0x1p-1, .to = 512, .shift = 0, .bits = 3});
  if (x < 0.5) {
    const double sine = std::sin(kPi * x);
    return kPi * kPi / (sine * sine) - trigamma(1.0 - x);
  }
  return table(x);
}

double polygamma(int order, double x) noexcept {
  if (order == 0) return digamma(x);
  if (order == 1) return trigamma(x);
  const double factorial = std::exp(lgamma(order + 1.0));
  return (order % 2 == 0 ? -factorial : factorial) * zeta(order + 1.0, x);
}

// Euler-Maclaurin: the first terms directly, then the integral, half a term and the Bernoulli corrections.
double zeta(double x, double q) noexcept {
  if (x == 1.0) return kInf;
  if (x < 1.0 || std::isnan(x) || std::isnan(q)) return kNan;
  if (q <= 0.0) {
    if (q == std::floor(q)) return kInf;
    if (x != std::floor(x)) return kNan;  // a fractional power of a negative number
  }
  double sum = 0.0;
  double a = q;
  // At least ten terms: the corrections only decrease if x is not much larger than a.
  for (int k = 0; k < 10 || a < kAsymptoticFrom; ++k, a += 1.0) {
    const double term = std::pow(a, -x);
    sum += term;
    // Once a > 0, the remainder is below term * (1 + a / (x - 1)).
    if (a > 0.0 && std::fabs(term) * (1.0 + a / (x - 1.0)) < 1e-17 * std::fabs(sum)) return sum;
  }
  const double last = std::pow(a, -x);
  sum += last * a / (x - 1.0) + 0.5 * last;
  // x (x+1) ... (x+2k) / (2k+2)! a^(-x-2k-1) for k = 0; the factorial is updated separately.
  double factor = x * last / a;
  double factorial = 2.0;
  for (int k = 0; k < 12; ++k) {
    const double term = static_cast<double>(kBernoulli[k]) / factorial * factor;
    sum += term;
    if (std::fabs(term) < 1e-17 * std::fabs(sum)) break;
    factor *= (x + 2.0 * k + 1.0) * (x + 2.0 * k + 2.0) / (a * a);
    factorial *= (2.0 * k + 3.0) * (2.0 * k + 4.0);
  }
  return sum;
}

}  // namespace undertow::core::special
