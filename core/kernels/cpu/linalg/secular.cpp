// secular.cpp: see secular.h. Each root is between two poles and is found, starting from the nearer one, by steps that
// replace the sums on each side by one pole each (Li's middle way), kept inside a shrinking bracket.
#include "core/kernels/cpu/linalg/secular.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/parallel.h"
#include "core/kernels/cpu/linalg/linalg_kernels.h"

namespace undertow::core::cpu {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

// 1/rho + sum of z_i^2 / gap_i at distance `at` from the origin, and its parts up to pole j and above it.
struct Sides {
  SecularSums low, high;
  double value;
};

struct Root {
  const Secular& problem;
  int64_t j;                           // the root above pole j
  const double *near, *far, *weights;  // poles minus the origin, poles plus the origin, and z squared

  Sides sides(double at) const {
    const SecularKernels& kernels = secular_kernels();
    int64_t split = std::min(j + 1, problem.k - 1);  // both poles of the last root are below it
    const double* f = problem.squares ? far : nullptr;
    Sides s{kernels.sums(split, near, f, at, weights),
            kernels.sums(problem.k - split, near + split, f ? f + split : nullptr, at, weights + split), 0};
    s.value = 1 / problem.rho + s.low.value + s.high.value;
    return s;
  }
  double gap(int64_t i, double at) const { return problem.squares ? (near[i] - at) * (far[i] + at) : near[i] - at; }
};

// The distance `at` from the origin to root j, in the bracket [low, high].
double find(const Root& root, double origin, double low, double high) {
  const int64_t k = root.problem.k, left = std::min(root.j, k - 2), right = left + 1;
  double at = 0.5 * (low + high);
  for (int tries = 0; tries < 100; tries++) {
    Sides s = root.sides(at);
    double size = 1 / root.problem.rho + std::abs(s.low.value) + std::abs(s.high.value);
    if (std::abs(s.value) <= 4 * kEps * size) break;
    (s.value < 0 ? low : high) = at;  // the function increases between poles
    if (high - low <= 2 * kEps * std::max(std::abs(low), std::abs(high))) break;
    double x = root.gap(left, at), y = root.gap(right, at);
    double slope = s.low.slope + s.high.slope, c = s.value - x * s.low.slope - y * s.high.slope;
    double a = (x + y) * s.value - x * y * slope, b = x * y * s.value;
    double spread = std::sqrt(std::max(0.0, a * a - 4 * b * c)), step;
    if (root.j == k - 1)
      step = a >= 0 ? (a + spread) / (2 * c) : 2 * b / (a - spread);
    else
      step = a <= 0 ? (a - spread) / (2 * c) : 2 * b / (a + spread);
    if (root.problem.squares) {  // converts a step of the square
      double value = origin + at, square = value * value + step;
      step = square >= 0 ? step / (value + std::sqrt(square)) : -std::numeric_limits<double>::infinity();
    }
    double next = at + step;
    if (!(next > low && next < high)) {
      // A bracket that spans orders of magnitude is bisected geometrically.
      if (low > 0 && high > 4 * low)
        next = std::sqrt(low) * std::sqrt(high);
      else if (high < 0 && low < 4 * high)
        next = -std::sqrt(-low) * std::sqrt(-high);
      else if (low == 0)
        next = high * 0x1p-6;
      else if (high == 0)
        next = low * 0x1p-6;
      else
        next = 0.5 * (low + high);
    }
    if (next == at) break;
    at = next;
  }
  return at;
}

}  // namespace

void solve_secular(const Secular& problem, double* roots, double* gaps, double* fitted) {
  const int64_t k = problem.k;
  const double *d = problem.poles, *z = problem.z;
  std::vector<double> weights(static_cast<size_t>(k));
  double norm = 0;
  for (int64_t i = 0; i < k; i++) norm += weights[static_cast<size_t>(i)] = z[i] * z[i];
  if (k == 1) {
    roots[0] = problem.squares ? std::abs(z[0]) : d[0] + problem.rho * norm;
    gaps[0] = problem.squares ? -norm : -problem.rho * norm;
    fitted[0] = z[0];
    return;
  }
  const int64_t grain = std::max<int64_t>(1, 4096 / k);
  parallel_for(0, k, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> around(static_cast<size_t>(2 * k));
    double *near = around.data(), *far = near + k;
    for (int64_t j = begin; j < end; j++) {
      auto from = [&](int64_t origin) { secular_kernels().around(k, d, d[origin], near, far); };
      Root root{problem, j, near, far, weights.data()};
      int64_t origin = j;
      from(j);
      double low = 0, high;
      if (j + 1 < k) {
        double width = d[j + 1] - d[j];
        high = 0.5 * width;
        if (root.sides(high).value < 0) {  // in the upper half
          origin = j + 1;
          from(origin);
          low = -0.5 * width;
          high = 0;
        }
      } else {
        high = problem.squares ? norm / (d[j] + std::sqrt(d[j] * d[j] + norm)) : problem.rho * norm;
        high += 4 * kEps * high;
      }
      double at = find(root, d[origin], low, high);
      roots[j] = d[origin] + at;
      secular_kernels().gaps(k, near, problem.squares ? far : nullptr, at, gaps + j * k);
    }
  });
  // fitted_i^2 = product over j of (root_j - pole_i) / (pole_j - pole_i), without the denominator for j = i, over rho.
  parallel_for(0, k, std::max<int64_t>(8, 32768 / k), [&](int64_t begin, int64_t end) {
    const SecularKernels& kernels = secular_kernels();
    std::fill(fitted + begin, fitted + end, 1.0);
    for (int64_t j = 0; j < k; j++) {
      // Element i = j has no denominator.
      int64_t cut = std::clamp(j, begin, end), rest = std::min(end, std::max(begin, j + 1));
      kernels.ratios(cut - begin, gaps + begin + j * k, d + begin, d[j], problem.squares, fitted + begin);
      if (rest > cut) fitted[j] *= -gaps[j + j * k];
      kernels.ratios(end - rest, gaps + rest + j * k, d + rest, d[j], problem.squares, fitted + rest);
    }
    for (int64_t i = begin; i < end; i++) fitted[i] = std::copysign(std::sqrt(std::abs(fitted[i]) / problem.rho), z[i]);
  });
}

}  // namespace undertow::core::cpu
