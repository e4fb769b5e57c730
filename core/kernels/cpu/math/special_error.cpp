// special_error.cpp: the normal-distribution functions of special_math.h: erfinv, erfcx, ndtr, ndtri, log_ndtr.
// The inverses refine a rough guess by Halley steps on libm's erf and erfc, so they are as accurate as those.
#include <cmath>
#include <limits>
#include <numbers>

#include "core/kernels/cpu/math/special_math.h"
#include "core/kernels/cpu/math/vec_math_erf.h"

namespace undertow::core::special {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kTwoOverSqrtPi = 2.0 * std::numbers::inv_sqrtpi;
constexpr double kSqrtHalf = std::numbers::sqrt2 / 2.0;

// The x > 0 with erfc(x) = q, for 0 < q <= 1/2 (a difference of tails stays accurate however small q is).
double erfc_inverse(double q) {
  // erfc(x) ~ e^(-x*x) / (x sqrt(pi)), solved for x*x by two substitutions.
  const double target = -std::log(q * 1.7724538509055159);
  double square = target > 1.0 ? target - 0.5 * std::log(target) : 0.3 + 0.5 * target;
  square = square > 1.0 ? target - 0.5 * std::log(square) : square;
  double x = std::sqrt(square < 0.2 ? 0.2 : square);
  for (int step = 0; step < 4; ++step) {
    // erfcx keeps the quotient finite if erfc and e^(-x*x) both underflow.
    const double tail = erfcx(x);
    const double error = (tail - q * std::exp(x * x)) / kTwoOverSqrtPi;
    x += error / (1.0 - x * error);
  }
  return x;
}

// The x with erf(x) = y for |y| <= 1/2.
double erf_inverse_center(double y) {
  double x = y * 0.886226925452758 * (1.0 + 0.2617993877991494 * y * y);
  for (int step = 0; step < 3; ++step) {
    const double error = (std::erf(x) - y) / (kTwoOverSqrtPi * std::exp(-x * x));
    x -= error / (1.0 + x * error);
  }
  return y == 0.0 ? y : x;
}

}  // namespace

double erfinv(double y) {
  const double a = std::fabs(y);
  if (!(a <= 1.0)) return kNan;
  if (a == 1.0) return std::copysign(kInf, y);
  if (a <= 0.5) return erf_inverse_center(y);
  return std::copysign(erfc_inverse(1.0 - a), y);  // 1 - a is exact
}

double erfcx(double x) {
  if (x < 0.5) return std::exp(x * x) * std::erfc(x);
  if (x < 27.0) return vm::erfc_scaled((x - 3.0) / (x + 3.0)) / (x + 3.0);
  const double z = 0.5 / (x * x);  // from 27 on, seven terms of the asymptotic series are exact to double
  return std::numbers::inv_sqrtpi / x *
         (1.0 - z * (1.0 - 3.0 * z * (1.0 - 5.0 * z * (1.0 - 7.0 * z * (1.0 - 9.0 * z * (1.0 - 11.0 * z))))));
}

double ndtr(double x) { return 0.5 * std::erfc(-x * kSqrtHalf); }

double ndtri(double p) {
  if (!(p >= 0.0 && p <= 1.0)) return kNan;
  if (p == 0.0) return -kInf;
  if (p == 1.0) return kInf;
  if (p >= 0.25 && p <= 0.75) return std::numbers::sqrt2 * erf_inverse_center(2.0 * (p - 0.5));
  const double tail = std::numbers::sqrt2 * erfc_inverse(2.0 * (p < 0.5 ? p : 1.0 - p));
  return p < 0.5 ? -tail : tail;
}

double log_ndtr(double x) {
  const double t = x * kSqrtHalf;
  if (x < -1.0) return std::log(0.5 * erfcx(-t)) - 0.5 * x * x;
  return std::log1p(-0.5 * std::erfc(t));
}

}  // namespace undertow::core::special
