// rejection.cpp: rejection sampling, one element at a time: gamma and binomial distributions.
// build: small
#include <algorithm>
#include <cmath>

#include "core/base/parallel.h"
#include "core/kernels/cpu/math/special_math.h"
#include "core/kernels/cpu/random/fill.h"
#include "core/kernels/cpu/random/sample.h"

namespace undertow::core::cpu {

namespace {

constexpr int64_t kSlopeGrain = 64;  // elements whose derivatives justify a chunk

double uniform53(random::RandomState& s) {
  double u;
  random::fill_uniform(s, &u, 1, 0, 1);
  return u;
}
double normal53(random::RandomState& s) {
  double x;
  random::fill_normal(s, &x, 1, 0, 1);
  return x;
}

// Marsaglia and Tsang's method; a shape below 1 is raised by one and the sample scaled down.
double draw_gamma(random::RandomState& s, double shape) {
  if (std::isnan(shape)) return shape;
  double scale = 1;
  if (shape < 1) {
    if (shape == 0) return 0;
    scale = std::pow(1 - uniform53(s), 1 / shape);
    shape += 1;
  }
  // In float, as in torch: our samples agree with its samples up to the last digits.
  double d = shape - static_cast<double>(1.0F / 3.0F);
  double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = normal53(s);
      y = 1 + c * x;
    } while (y <= 0);
    double v = y * y * y, u = 1 - uniform53(s), xx = x * x;
    if (u < 1 - 0.0331 * xx * xx || std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

// The remainder of Stirling's formula for log k!.
double stirling_tail(double k) {
  static constexpr double kSmall[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kSmall[static_cast<int>(k)];
  double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// For few expected successes, sums the waiting times between successes until they exceed n; for many, Hoermann's BTRS
// (1993).
double draw_binomial(random::RandomState& s, double n, double p) {
  if (std::isnan(n) || std::isnan(p)) return NAN;
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (p > 0.5) return n - draw_binomial(s, n, 1 - p);
  if (n * p < 10) {
    double total = 0, log_failure = std::log1p(-p);
    for (int64_t found = 0;; found++) {
      total += std::ceil(std::log(uniform53(s)) / log_failure);
      if (!(total <= n)) return static_cast<double>(found);
    }
  }
  double deviation = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  double centre = n * p + 0.5, reach = 0.92 - 4.2 / b, odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation,
         mode = std::floor((n + 1) * p);
  for (;;) {
    double u = uniform53(s) - 0.5, v = uniform53(s), us = 0.5 - std::fabs(u),
           k = std::floor((2 * a / us + b) * u + centre);
    if (us >= 0.07 && v <= reach) return k;
    if (!(k >= 0 && k <= n)) continue;
    double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                   (n + 1) * std::log((n - mode + 1) / (n - k + 1)) +
                   (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_tail(mode) + stirling_tail(n - mode) -
                   stirling_tail(k) - stirling_tail(n - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

// F(x; a) is constant as a changes: dx/da = -(dF/da) / p(x; a), with the derivative by fourth-order differences. Uses
// the smaller of F and 1 - F, which is more accurate.
double gamma_derivative(double a, double x) {
  if (x < 1e-6) return x * (special::digamma(a + 1) - std::log(x)) / a;  // F(x; a) is x^a / Gamma(a + 1) there
  double h = 1e-3 * std::min(a, std::sqrt(a)), near, far;
  if (x > a) {
    near = special::igammac(a - h, x) - special::igammac(a + h, x);
    far = special::igammac(a - 2 * h, x) - special::igammac(a + 2 * h, x);
  } else {
    near = special::igamma(a + h, x) - special::igamma(a - h, x);
    far = special::igamma(a + 2 * h, x) - special::igamma(a - 2 * h, x);
  }
  double density = std::exp((a - 1) * std::log(x) - x - special::lgamma(a));
  return -(8 * near - far) / (12 * h) / density;
}

}  // namespace

void gamma(const Tensor& shapes, double least, Generator& g) {
  std::lock_guard lock(g.mutex);
  double* at = shapes.data_as<double>();
  for (int64_t i = 0; i < shapes.numel(); i++) at[i] = std::max(least, draw_gamma(state_of(g), at[i]));
}

void gamma_grad(const Tensor& shapes, const Tensor& draws) {
  double *at = shapes.data_as<double>(), *x = draws.data_as<double>();
  parallel_for(0, shapes.numel(), kSlopeGrain, [at, x](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) at[i] = gamma_derivative(at[i], x[i]);
  });
}

void binomial(const Tensor& counts, const Tensor& probs, Generator& g) {
  std::lock_guard lock(g.mutex);
  double *at = counts.data_as<double>(), *p = probs.data_as<double>();
  for (int64_t i = 0; i < counts.numel(); i++) at[i] = draw_binomial(state_of(g), at[i], p[i]);
}

}  // namespace undertow::core::cpu
