// special_cylinder.cpp: the Bessel functions of both kinds and the Airy function declared in special_double.h.
// build: small
#include <cmath>
#include <limits>
#include <numbers>

#include "core/kernels/cpu/math/special_double.h"
#include "core/kernels/cpu/math/special_math.h"

namespace undertow::core::special {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kGamma = std::numbers::egamma;

// --- First and second kind: from libm, with torch's edge cases

double bessel_j0(double x) { return std::isinf(x) ? kNan : ::j0(x); }
double bessel_j1(double x) { return std::isinf(x) ? kNan : ::j1(x); }
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
double scaled_k(double order, double x) {
  const double step = std::fmin(0.5 / std::sqrt(x), 0.125), end = std::acosh(1 + 42 / x);
  double sum = 0.5;
  for (double t = step; t < end; t += step) {
    const double half = std::sinh(0.5 * t);
    sum += std::exp(-2 * x * half * half) * std::cosh(order * t);
  }
  return sum * step;
}

// K0 = -(log(x/2) + gamma) I0 + sum of H(k) (x/2)^2k / k!^2, and K1 from the series of its derivative, for x up to 2.
double small_k0(double x) {
  const double quarter = 0.25 * x * x;
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 24; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  return sum - (std::log(0.5 * x) + kGamma) * i0(x);
}
double small_k1(double x) {
  const double quarter = 0.25 * x * x;
  double term = 1, digammas = 1 - 2 * kGamma, sum = digammas;  // psi(k + 1) + psi(k + 2)
  for (int k = 1; k < 24; ++k) {
    term *= quarter / (static_cast<double>(k) * (k + 1));
    digammas += 1.0 / k + 1.0 / (k + 1);
    sum += term * digammas;
  }
  return 1 / x + std::log(0.5 * x) * i1(x) - 0.25 * x * sum;
}

double scaled_modified_bessel_k(int order, double x) {
  if (x == 0) return kInf;
  if (!(x > 0)) return kNan;
  if (std::isinf(x)) return 0;
  if (x <= 2) return std::exp(x) * (order == 0 ? small_k0(x) : small_k1(x));
  return scaled_k(order, x);
}
double scaled_modified_bessel_k0(double x) { return scaled_modified_bessel_k(0, x); }
double scaled_modified_bessel_k1(double x) { return scaled_modified_bessel_k(1, x); }
double modified_bessel_k0(double x) {
  return x > 2 ? std::exp(-x) * scaled_modified_bessel_k0(x) : x > 0 ? small_k0(x) : x == 0 ? kInf : kNan;
}
double modified_bessel_k1(double x) {
  return x > 2 ? std::exp(-x) * scaled_modified_bessel_k1(x) : x > 0 ? small_k1(x) : x == 0 ? kInf : kNan;
}

// --- Airy function

// Ai(x) from its value and slope at 0, by Taylor series of y'' = x y in steps of at most 1: on the negative axis
// neither solution grows, so no accuracy is lost.
double airy_stepped(double x) {
  double at = 0, y = 0.35502805388781723926, slope = -0.25881940379280679840;
  while (at != x) {
    const double h = std::fmax(-1.0, std::fmin(1.0, x - at));
    double before = 0, c0 = y, c1 = slope, power = h, value = y + slope * h, change = slope;
    for (int n = 0; n < 40; ++n) {  // (n + 2)(n + 1) c[n+2] = at c[n] + c[n-1]
      const double next = (at * c0 + before) / static_cast<double>((n + 2) * (n + 1));
      change += static_cast<double>(n + 2) * next * power;
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
double airy_far_left(double z) {
  const double zeta = 2.0 / 3.0 * z * std::sqrt(z);
  double u = 1, p = 0, q = 0;
  for (int k = 0; k < 20; ++k) {
    const double part = k % 4 < 2 ? u : -u;
    (k % 2 == 0 ? p : q) += part;
    u *= (6.0 * k + 5) * (6.0 * k + 3) * (6.0 * k + 1) / (216.0 * (k + 1) * (2 * k + 1) * zeta);
  }
  const double angle = zeta - std::numbers::pi / 4;
  return (std::cos(angle) * p + std::sin(angle) * q) / (std::sqrt(std::numbers::pi) * std::sqrt(std::sqrt(z)));
}

double airy_ai(double x) {
  if (std::isnan(x) || std::isinf(x)) return kNan;
  if (x > 103.892) return 0;  // torch's limit: 1e-307
  if (x > 1) {                // sqrt(x / 3) / pi K(1/3, zeta)
    const double zeta = 2.0 / 3.0 * x * std::sqrt(x);
    return std::exp(-zeta) * scaled_k(1.0 / 3.0, zeta) * std::sqrt(x / 3) / std::numbers::pi;
  }
  return x > -12 ? airy_stepped(x) : airy_far_left(-x);
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
