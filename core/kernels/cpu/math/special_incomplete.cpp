// special_incomplete.cpp: the incomplete gamma functions of special_math.h: a power series for x < a + 1, a continued
// fraction above. Both converge in a number of steps proportional to sqrt(a).
#include <cmath>
#include <limits>
#include <numbers>

#include "core/kernels/cpu/math/special_math.h"

namespace undertow::core::special {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon(), kFloatEps = 1e-10;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kMaxSteps = 100000;

// x^a e^-x / Gamma(a). For large a by Stirling's series around x = a, where the plain logarithms would cancel.
double front(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - lgamma(a));
  double off = (x - a) / a,
         series = 1 / (12 * a) - 1 / (360 * a * a * a) + 1 / (1260 * std::pow(a, 5)) - 1 / (1680 * std::pow(a, 7));
  return std::exp(a * (std::log1p(off) - off) - series) * std::sqrt(a / (2 * std::numbers::pi));
}

// P(a, x) = x^a e^-x / Gamma(a) * sum over n of x^n / (a (a + 1) ... (a + n)).
double lower_series(double a, double x, double eps) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kMaxSteps && term > sum * eps; n++) {
    term *= x / (a + n);
    sum += term;
  }
  return front(a, x) * sum;
}

// Q(a, x) = x^a e^-x / Gamma(a) / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), evaluated forwards by Lentz's method.
double upper_fraction(double a, double x, double eps) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, value = d;
  for (int n = 1; n < kMaxSteps; n++) {
    double an = n * (a - n);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    if (std::abs(d) < tiny) d = tiny;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    double step = c * d;
    value *= step;
    if (std::abs(step - 1) < eps) break;
  }
  return front(a, x) * value;
}

// P at the edges of its domain, where it is known without computation; negative elsewhere.
double edge(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || a < 0 || x < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  return std::isinf(x) ? 1 : -1;
}

// The series converges fastest for x < a + 1, where 1 - P loses no accuracy if a >= 1; below, it does beyond x = 1.
double lower(double a, double x, double eps) {
  double known = edge(a, x);
  if (!(known < 0)) return known;
  return x > 1 && x > a + 1 ? 1 - upper_fraction(a, x, eps) : lower_series(a, x, eps);
}
double upper(double a, double x, double eps) {
  double known = edge(a, x);
  if (!(known < 0)) return 1 - known;
  return x < 1 || x < a || (a >= 1 && x < a + 1) ? 1 - lower_series(a, x, eps) : upper_fraction(a, x, eps);
}

}  // namespace

double igamma(double a, double x) noexcept { return lower(a, x, kEps); }
double igammac(double a, double x) noexcept { return upper(a, x, kEps); }
float igamma(float a, float x) noexcept { return static_cast<float>(lower(a, x, kFloatEps)); }
float igammac(float a, float x) noexcept { return static_cast<float>(upper(a, x, kFloatEps)); }

}  // namespace undertow::core::special
