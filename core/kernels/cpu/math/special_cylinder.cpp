// special_cylinder.cpp: the Bessel functions of both kinds and the Airy function declared in special_double.h.
// build: small
#include <cmath>
#include <limits>
#include <numbers>

#include "core/kernels/cpu/math/piecewise.h"
#include "core/kernels/cpu/math/special_double.h"
#include "core/kernels/cpu/math/special_math.h"

namespace undertow::core::special {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr long double kGamma = std::numbers::egamma_v<long double>;

// --- First and second kind: from libm, with torch's edge cases

// In equal cells, because they oscillate. J1 is divided by its argument: its first zero is at 0.
constexpr Piecewise::Cells kWaves = {.from = 0, .to = 64, .shift = 64, .bits = 7};
long double j1_ratio(long double x) { return x == 0 ? 0.5L : ::j1l(x) / x; }
double bessel_j0(double x) {
  static const Piecewise table(::j0l, kWaves, Piecewise::Zeros::DivideOut);
  return std::isinf(x) ? kNan : table(std::fabs(x));
}
double bessel_j1(double x) {
  static const Piecewise table(j1_ratio, kWaves, Piecewise::Zeros::DivideOut);
  return std::isinf(x) ? kNan : std::fabs(x) < 64 ? x * table(std::fabs(x)) : ::j1(x);
}
double bessel_y0(double x) { return x == 0 ? -kInf : x < 0 || std::isinf(x) ? kNan : ::y0(x); }
double bessel_y1(double x) { return x == 0 ? -kInf : x < 0 || std::isinf(x) ? kNan : ::y1(x); }
double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}
double modified_bessel_i0(double x) { return i0(x); }
double modified_bessel_i1(double x) { return x == 0 ? 0 : i1(x); }

// --- Modified, second kind

// e^x K(order, x) = integral over t > 0 of e^(-x (cosh t - 1)) cosh(order t). The trapezoidal rule converges faster
// than any power of its step once the step is below the width of the integrand, about 1/sqrt(x).
long double scaled_k(long double order, long double x) {
  const long double step = std::fmin(0.4L / std::sqrt(x), 0.1L), end = std::acosh(1 + 48 / x);
  long double sum = 0.5L;
  for (long double t = step; t < end; t += step) {
    const long double half = std::sinh(0.5L * t);
    sum += std::exp(-2 * x * half * half) * std::cosh(order * t);
  }
  return sum * step;
}

// I(order, x) / (x/2)^order, by its series.
long double small_i(int order, long double quarter) {
  long double term = 1, sum = 1;
  for (int k = 1; k < 24; ++k) {
    term *= quarter / (static_cast<long double>(k) * (k + order));
    sum += term;
  }
  return sum;
}
// K0 = -(log(x/2) + gamma) I0 + sum of H(k) (x/2)^2k / k!^2, and K1 from the series of its derivative, for x up to 2.
long double small_k0(long double x) {
  const long double quarter = 0.25L * x * x;
  long double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 24; ++k) {
    term *= quarter / (static_cast<long double>(k) * k);
    harmonic += 1.0L / k;
    sum += term * harmonic;
  }
  return sum - (std::log(0.5L * x) + kGamma) * small_i(0, quarter);
}
long double small_k1(long double x) {
  const long double quarter = 0.25L * x * x;
  long double term = 1, digammas = 1 - 2 * kGamma, sum = digammas;  // psi(k + 1) + psi(k + 2)
  for (int k = 1; k < 24; ++k) {
    term *= quarter / (static_cast<long double>(k) * (k + 1));
    digammas += 1.0L / k + 1.0L / (k + 1);
    sum += term * digammas;
  }
  return 1 / x + std::log(0.5L * x) * (0.5L * x * small_i(1, quarter)) - 0.25L * x * sum;
}

long double slow_scaled_k0(long double x) { return x <= 2 ? std::exp(x) * small_k0(x) : scaled_k(0, x); }
long double slow_scaled_k1(long double x) { return x <= 2 ? std::exp(x) * small_k1(x) : scaled_k(1, x); }

// At 0, where they are infinite, below, and at infinity.
double edge_of_k(double x) { return x == 0 ? kInf : std::isinf(x) && x > 0 ? 0 : kNan; }
constexpr Piecewise::Cells kDecay = {.from = 0x1p-8, .to = 128, .shift = 0, .bits = 3};
double scaled_modified_bessel_k0(double x) {
  static const Piecewise table(slow_scaled_k0, kDecay);
  return x > 0 && !std::isinf(x) ? table(x) : edge_of_k(x);
}
double scaled_modified_bessel_k1(double x) {
  static const Piecewise table(slow_scaled_k1, kDecay);
  return x > 0 && !std::isinf(x) ? table(x) : edge_of_k(x);
}
double modified_bessel_k0(double x) { return x > 0 ? std::exp(-x) * scaled_modified_bessel_k0(x) : edge_of_k(x); }
double modified_bessel_k1(double x) { return x > 0 ? std::exp(-x) * scaled_modified_bessel_k1(x) : edge_of_k(x); }

// --- Airy function

// Ai(x) from its value and slope at 0, by Taylor series of y'' = x y in steps of at most 1: on the negative axis
// neither solution grows, so no accuracy is lost.
long double airy_stepped(long double x) {
  long double at = 0, y = 0.355028053887817239260063186L, slope = -0.258819403792806798405183560L;
  while (at != x) {
    const long double h = std::fmax(-1.0L, std::fmin(1.0L, x - at));
    long double before = 0, c0 = y, c1 = slope, power = h, value = y + slope * h, change = slope;
    for (int n = 0; n < 48; ++n) {  // (n + 2)(n + 1) c[n+2] = at c[n] + c[n-1]
      const long double next = (at * c0 + before) / static_cast<long double>((n + 2) * (n + 1));
      change += static_cast<long double>(n + 2) * next * power;
      power *= h;
      value += next * power;
      before = c0, c0 = c1, c1 = next;
    }
    y = value, slope = change;
    at = h == x - at ? x : at + h;
  }
  return y;
}

// Ai(-z) for large z: (cos(zeta - pi/4) P + sin(zeta - pi/4) Q) / (sqrt(pi) z^(1/4)), with P and Q asymptotic in
// 1/zeta.
long double airy_far_left(long double z) {
  const long double zeta = 2.0L / 3 * z * std::sqrt(z);
  long double u = 1, p = 0, q = 0;
  for (int k = 0; k < 20; ++k) {
    const long double part = k % 4 < 2 ? u : -u;
    (k % 2 == 0 ? p : q) += part;
    u *= (6.0L * k + 5) * (6.0L * k + 3) * (6.0L * k + 1) / (216.0L * (k + 1) * (2 * k + 1) * zeta);
  }
  const long double angle = zeta - std::numbers::pi_v<long double> / 4;
  return (std::cos(angle) * p + std::sin(angle) * q) /
         (std::sqrt(std::numbers::pi_v<long double>) * std::sqrt(std::sqrt(z)));
}

long double slow_airy_ai(long double x) {
  if (std::isnan(x) || std::isinf(x)) return kNan;
  if (x > 103.892) return 0;  // torch's limit: 1e-307
  if (x > 1) {                // sqrt(x / 3) / pi K(1/3, zeta)
    const long double zeta = 2.0L / 3 * x * std::sqrt(x);
    return std::exp(-zeta) * scaled_k(1.0L / 3, zeta) * std::sqrt(x / 3) / std::numbers::pi_v<long double>;
  }
  return x > -12 ? airy_stepped(x) : airy_far_left(-x);
}

double airy_ai(double x) {
  static const Piecewise table(slow_airy_ai, {.from = -16, .to = 16, .shift = 48, .bits = 7});
  return table(x);
}

struct Named {
  std::string_view name;
  OneFunction function;
};
constexpr Named kFunctions[] = {
    {"airy_ai", airy_ai},
    {"bessel_j0", bessel_j0},
    {"bessel_j1", bessel_j1},
    {"bessel_y0", bessel_y0},
    {"bessel_y1", bessel_y1},
    {"modified_bessel_i0", modified_bessel_i0},
    {"modified_bessel_i1", modified_bessel_i1},
    {"modified_bessel_k0", modified_bessel_k0},
    {"modified_bessel_k1", modified_bessel_k1},
    {"scaled_modified_bessel_k0", scaled_modified_bessel_k0},
    {"scaled_modified_bessel_k1", scaled_modified_bessel_k1},
    {"spherical_bessel_j0", spherical_bessel_j0},
};

}  // namespace

OneFunction one_function(std::string_view name) {
  for (const Named& f : kFunctions)
    if (f.name == name) return f.function;
  return nullptr;
}

}  // namespace undertow::core::special
