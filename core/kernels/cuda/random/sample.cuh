// sample.cuh: distributions whose elements draw as many numbers as they need, and multinomial samples. The methods are
// those of kernels/cpu/random.
#pragma once
#include "device/block_scan.cuh"
#include "device/convert.cuh"
#include "device/errors.cuh"
#include "device/special_math.cuh"
#include "random/philox.cuh"

namespace undertow {

// By multiplication for small rates and by Hoermann's transformed rejection (PTRS, 1993) for large ones.
UT_DEVICE double draw_poisson(ElementStream& s, double rate) {
  if (!(rate > 0)) return 0;
  if (rate < 10) {
    const double limit = exp(-rate);
    double product = 1;
    for (int64_t k = 0;; k++) {
      product *= s.uniform();
      if (!(product > limit)) return static_cast<double>(k);
    }
  }
  const double root = sqrt(rate), log_rate = log(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b,
               inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), vr = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - fabs(u);
    const double k = floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= vr) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -rate + k * log_rate - lgamma(k + 1)) return k;
  }
}

// Marsaglia and Tsang's method; a shape below 1 is raised by one and the sample scaled down.
UT_DEVICE double draw_gamma(ElementStream& s, double shape) {
  if (shape != shape) return shape;
  double scale = 1;
  if (shape < 1) {
    if (shape == 0) return 0;
    scale = pow(1 - s.uniform(), 1 / shape);
    shape += 1;
  }
  const double d = shape - static_cast<double>(1.0f / 3.0f), c = 1 / sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = s.normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - s.uniform(), xx = x * x;
    if (u < 1 - 0.0331 * xx * xx || log(u) < 0.5 * xx + d * (1 - v + log(v))) return scale * d * v;
  }
}

// The remainder of Stirling's formula for log k!.
UT_DEVICE double stirling_tail(double k) {
  const double small[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                          0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                          0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return small[static_cast<int>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// For few expected successes, sums the waiting times between successes until they exceed n; for many, Hoermann's BTRS
// (1993).
UT_DEVICE double draw_binomial(ElementStream& s, double n, double p) {
  if (n != n || p != p) return Limits<double>::nan();
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  const bool flipped = p > 0.5;
  if (flipped) p = 1 - p;
  double found = 0;
  if (n * p < 10) {
    const double log_failure = log1p(-p);
    for (double total = 0;; found++) {
      total += ceil(log(s.uniform()) / log_failure);
      if (!(total <= n)) break;
    }
    return flipped ? n - found : found;
  }
  const double deviation = sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p,
               centre = n * p + 0.5, reach = 0.92 - 4.2 / b, odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation,
               mode = floor((n + 1) * p);
  for (;;) {
    const double u = s.uniform() - 0.5, v = s.uniform(), us = 0.5 - fabs(u), k = floor((2 * a / us + b) * u + centre);
    if (!(us >= 0.07 && v <= reach)) {
      if (!(k >= 0 && k <= n)) continue;
      const double bound = (mode + 0.5) * log((mode + 1) / (odds * (n - mode + 1))) +
                           (n + 1) * log((n - mode + 1) / (n - k + 1)) +
                           (k + 0.5) * log(odds * (n - k + 1) / (k + 1)) + stirling_tail(mode) +
                           stirling_tail(n - mode) - stirling_tail(k) - stirling_tail(n - k);
      if (log(v * alpha / (a / (us * us) + b)) > bound) continue;
    }
    return flipped ? n - k : k;
  }
}

// F(x; a) is constant as a changes: dx/da = -(dF/da) / p(x; a), with the derivative by fourth-order differences. Uses
// the smaller of F and 1 - F, which is more accurate.
UT_DEVICE double gamma_derivative(double a, double x) {
  if (x < 1e-6) return x * (special::digamma(a + 1) - log(x)) / a;  // F(x; a) is x^a / Gamma(a + 1) there
  const double root = sqrt(a), h = 1e-3 * (a < root ? a : root);
  double near, far;
  if (x > a) {
    near = special::igammac(a - h, x) - special::igammac(a + h, x);
    far = special::igammac(a - 2 * h, x) - special::igammac(a + 2 * h, x);
  } else {
    near = special::igamma(a + h, x) - special::igamma(a - h, x);
    far = special::igamma(a + 2 * h, x) - special::igamma(a - 2 * h, x);
  }
  const double density = exp((a - 1) * log(x) - x - lgamma(a));
  return -(8 * near - far) / (12 * h) / density;
}

}  // namespace undertow

template <class T>
__global__ void sample_poisson(T* out, const double* rates, int64_t n, PhiloxRange given, DeviceErrorSlot* slot,
                               int64_t raise) {
  const PhiloxRange range = range_of_replay(given);
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    if (!(rates[i] >= 0)) report_error(slot, raise, __double_as_longlong(rates[i]), 0, 0);
    ElementStream s(range, i);
    out[i] = convert<T>(draw_poisson(s, rates[i]));
  }
}
template <int = 0>
__global__ void sample_gamma(double* shapes, double least, int64_t n, PhiloxRange given) {
  const PhiloxRange range = range_of_replay(given);
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    ElementStream s(range, i);
    const double drawn = draw_gamma(s, shapes[i]);
    shapes[i] = least < drawn ? drawn : least;
  }
}
template <int = 0>
__global__ void gamma_derivatives(double* shapes, const double* draws, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) shapes[i] = gamma_derivative(shapes[i], draws[i]);
}
template <int = 0>
__global__ void sample_binomial(double* counts, const double* probs, int64_t n, PhiloxRange given) {
  const PhiloxRange range = range_of_replay(given);
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    ElementStream s(range, i);
    counts[i] = draw_binomial(s, counts[i], probs[i]);
  }
}

template <int = 0>
__global__ void check_not_negative(const double* values, int64_t n, DeviceErrorSlot* slot, int64_t raise) {
  for (int64_t i = thread_number(); i < n; i += thread_count())
    if (!(values[i] >= 0)) report_error(slot, raise, __double_as_longlong(values[i]), 0, 0);
}

// Sums of each row's weights up to each element, in double; a block per row. Bad weights are reported: code 0 for a
// negative one, 1 for one that is not finite, 2 for a sum that is not positive.
template <class T>
__global__ void cumulative_weights(double* sums, const T* weights, int64_t n, DeviceErrorSlot* slot, int64_t raise) {
  weights += blockIdx.x * n;
  sums += blockIdx.x * n;
  double before = 0;
  for (int64_t first = 0; first < n; first += blockDim.x) {
    const int64_t i = first + threadIdx.x;
    const double w = i < n ? static_cast<double>(weights[i]) : 0;
    if (!(w >= 0))
      report_error(slot, raise, w != w ? 1 : 0, 0, 0);
    else if (w == Limits<double>::infinity())
      report_error(slot, raise, 1, 0, 0);
    double total;
    const double sum = sum_before(w, total);
    if (i < n) sums[i] = before + sum + w;
    before += total;
  }
  if (threadIdx.x == 0 && !(before > 0)) report_error(slot, raise, 2, 0, 0);
}
// The first element whose sum reaches a uniform number times the row's sum.
template <int = 0>
__global__ void sample_with_replacement(int64_t* out, const double* sums, int64_t n, int64_t per_row, int64_t total,
                                        PhiloxRange given) {
  const PhiloxRange range = range_of_replay(given);
  for (int64_t i = thread_number(); i < total; i += thread_count()) {
    const double* row = sums + i / per_row * n;
    const Words w = philox(range.seed, range.offset + i, 0);
    const double wanted = uniform53(w.at[0], w.at[1]) * row[n - 1];
    int64_t low = 0, high = n - 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (row[middle] <= wanted)
        low = middle + 1;
      else
        high = middle;
    }
    out[i] = low;
  }
}
// An exponential race: the largest weight / exponential comes first.
template <class T>
__global__ void race_scores(T* scores, const T* weights, int64_t n, PhiloxRange given) {
  const PhiloxRange range = range_of_replay(given);
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const Words w = philox(range.seed, range.offset + i, 0);
    scores[i] = static_cast<T>(static_cast<double>(weights[i]) / -log1p(-uniform53(w.at[0], w.at[1])));
  }
}
