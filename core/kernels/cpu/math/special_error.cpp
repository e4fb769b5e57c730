// special_error.cpp: erfcx and log_ndtr of special_math.h.
#include <cmath>
#include <numbers>

#include "core/kernels/cpu/math/special_math.h"
#include "core/kernels/cpu/math/vec_math_erf.h"

namespace undertow::core::special {

namespace {

constexpr double kSqrtHalf = std::numbers::sqrt2 / 2.0;

}  // namespace

double erfcx(double x) noexcept {
  if (x < 0.5) return std::exp(x * x) * std::erfc(x);
  if (x < 27.0) return vm::erfc_scaled((x - 3.0) / (x + 3.0)) / (x + 3.0);
  const double z = 0.5 / (x * x);  // from 27 on, seven terms of the asymptotic series are exact to double
  return std::numbers::inv_sqrtpi / x *
         (1.0 - z * (1.0 - 3.0 * z * (1.0 - 5.0 * z * (1.0 - 7.0 * z * (1.0 - 9.0 * z * (1.0 - 11.0 * z))))));
}

double log_ndtr(double x) noexcept {
  const double t = x * kSqrtHalf;
  if (x < -1.0) return std::log(0.5 * erfcx(-t)) - 0.5 * x * x;
  return std::log1p(-0.5 * std::erfc(t));
}

}  // namespace undertow::core::special
