// tridiagonal.cpp: eigenvalues of a real tridiagonal matrix: QL steps for small matrices and if no vectors are needed,
// else Cuppen's divide and conquer, whose work is mostly matrix products.
// build: small
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/linalg/divide_and_conquer.h"
#include "core/kernels/cpu/linalg/linalg_kernels.h"
#include "core/kernels/cpu/linalg/secular.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {

namespace {

struct MergeNumbers;  // scratch
struct MergeColumns;  // scratch

constexpr double kEps = std::numeric_limits<double>::epsilon();
// Matrices are scaled to about one: smaller values are zero compared with round-off.
constexpr double kTiny = 0x1p-66;
constexpr double kFloor = 0x1p-100;  // lower bound for the norm of a block that its tolerance is based on
constexpr int kTries = 60;           // steps per eigenvalue

// QL with implicit shifts (Wilkinson's); the rotations are also applied to z, n by n.
bool ql(int64_t n, double* d, double* e, double* z) {
  const auto rotate = dense_kernels<double>().rotate;
  e[n - 1] = 0;
  for (int64_t l = 0; l < n; l++) {
    for (int tries = 0;; tries++) {
      int64_t m = l;
      while (m + 1 < n && std::abs(e[m]) > kTiny + kEps * (std::abs(d[m]) + std::abs(d[m + 1]))) m++;
      if (m == l) break;
      if (tries == kTries) return false;
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      g = d[m] - d[l] + e[l] / (g + std::copysign(std::hypot(g, 1.0), g));
      double s = 1, c = 1, p = 0;
      int64_t i = m - 1;
      for (; i >= l; i--) {
        double f = s * e[i], b = c * e[i], r = std::sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) break;
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        double t = (d[i] - g) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        rotate(n, z + i * n, z + (i + 1) * n, c, s);
      }
      if (i >= l) {  // an early zero splits the matrix
        d[i + 1] -= p;
        e[m] = 0;
        continue;
      }
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  return true;
}

template <class R>
bool leaf(int64_t n, double* d, double* e, R* q, int64_t ld) {
  double z[kConquerLeaf * kConquerLeaf], values[kConquerLeaf];
  std::fill(z, z + n * n, 0.0);
  for (int64_t i = 0; i < n; i++) z[i * (n + 1)] = 1;
  if (!ql(n, d, e, z)) return false;
  int64_t order[kConquerLeaf];
  std::iota(order, order + n, int64_t{0});
  std::stable_sort(order, order + n, [&](int64_t x, int64_t y) { return d[x] < d[y]; });
  for (int64_t j = 0; j < n; j++) {
    values[j] = d[order[j]];
    for (int64_t i = 0; i < n; i++) q[i + j * ld] = static_cast<R>(z[i + order[j] * n]);
  }
  std::copy_n(values, n, d);
  return true;
}

// q holds the eigenvectors of the two halves, d their eigenvalues; rho at (half - 1, half) couples the halves.
template <class R>
void merge(int64_t n, int64_t half, double rho, double* d, R* q, int64_t ld) {
  double* numbers = Scratch<MergeNumbers>::get<double>(n * n + 6 * n);
  double *gaps = numbers, *z = gaps + n * n, *poles = z + n, *weights = poles + n, *roots = weights + n,
         *fitted = roots + n, *values = fitted + n;
  std::vector<int64_t> order(static_cast<size_t>(n)), active(static_cast<size_t>(n)), deflated(static_cast<size_t>(n));
  std::vector<ColumnKind> kind(static_cast<size_t>(n));
  // T = diag(T1, T2) + 2 |rho| z z^T, with z of unit norm.
  double most = kFloor, root_half = std::sqrt(0.5);
  for (int64_t i = 0; i < n; i++) {
    z[i] = (i < half ? static_cast<double>(q[half - 1 + i * ld])
                     : std::copysign(1.0, rho) * static_cast<double>(q[half + i * ld])) *
           root_half;
    kind[static_cast<size_t>(i)] = i < half ? kTop : kBottom;
    most = std::max({most, std::abs(d[i]), std::abs(z[i])});
  }
  rho = 2 * std::abs(rho);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::inplace_merge(order.begin(), order.begin() + half, order.end(),
                     [&](int64_t x, int64_t y) { return d[x] < d[y]; });
  const double tolerance = 8 * static_cast<double>(std::numeric_limits<R>::epsilon()) * most;
  const auto rotate = dense_kernels<R>().rotate;
  const int64_t k = deflate(n, order.data(), d, z, kind.data(), rho, tolerance, active.data(), deflated.data(),
                            [&](int64_t i, int64_t j, double c, double s) { rotate(n, q + i * ld, q + j * ld, c, s); });
  for (int64_t i = 0; i < k; i++) {
    poles[i] = d[active[static_cast<size_t>(i)]];
    weights[i] = z[active[static_cast<size_t>(i)]];
  }
  if (k > 0) solve_secular({k, poles, weights, rho, false}, roots, gaps, fitted);
  // Columns by kind, so that those with a zero top or bottom part enter only one product.
  std::vector<int64_t> grouped(static_cast<size_t>(k));
  std::iota(grouped.begin(), grouped.end(), int64_t{0});
  auto kind_of = [&](int64_t i) { return kind[static_cast<size_t>(active[static_cast<size_t>(i)])]; };
  std::stable_sort(grouped.begin(), grouped.end(), [&](int64_t x, int64_t y) { return kind_of(x) < kind_of(y); });
  int64_t tops = 0, lows = 0;  // columns with a top part; those without come last
  for (int64_t i = 0; i < k; i++) (kind_of(i) == kBottom ? lows : tops)++;
  int64_t only_top = 0;
  for (int64_t i = 0; i < k; i++) only_top += kind_of(i) == kTop;
  const int64_t bottom_columns = k - only_top, rest = n - half;
  R* memory = Scratch<MergeColumns>::get<R>(n * n + k * k + half * tops + rest * bottom_columns);
  R *out = memory, *mix = out + n * n, *top = mix + k * k, *bottom = top + half * tops;
  parallel_for(0, k, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, k)), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j++) {
      double* column = gaps + j * k;
      double scale = 1 / std::sqrt(secular_kernels().vector(k, fitted, poles, column).value);
      for (int64_t i = 0; i < k; i++) mix[i + j * k] = static_cast<R>(column[grouped[static_cast<size_t>(i)]] * scale);
    }
  });
  for (int64_t i = 0; i < k; i++) {
    const R* from = q + active[static_cast<size_t>(grouped[static_cast<size_t>(i)])] * ld;
    if (i < tops) std::copy_n(from, half, top + i * half);
    if (i >= only_top) std::copy_n(from + half, rest, bottom + (i - only_top) * rest);
  }
  gemm<R>(half, k, tops, R(1), top, 1, half, mix, 1, k, R(0), out, 1, n);
  gemm<R>(rest, k, bottom_columns, R(1), bottom, 1, rest, mix + only_top, 1, k, R(0), out + half, 1, n);
  for (int64_t i = 0; i < n - k; i++) {
    int64_t from = deflated[static_cast<size_t>(i)];
    std::copy_n(q + from * ld, n, out + (k + i) * n);
    values[i] = d[from];
  }
  auto value = [&](int64_t i) { return i < k ? roots[i] : values[i - k]; };
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin() + k, order.end(), [&](int64_t x, int64_t y) { return value(x) < value(y); });
  std::inplace_merge(order.begin(), order.begin() + k, order.end(),
                     [&](int64_t x, int64_t y) { return value(x) < value(y); });
  for (int64_t j = 0; j < n; j++) {
    std::copy_n(out + order[static_cast<size_t>(j)] * n, n, q + j * ld);
    d[j] = value(order[static_cast<size_t>(j)]);
  }
}

template <class R>
bool conquer(int64_t n, double* d, double* e, R* q, int64_t ld) {
  if (n <= kConquerLeaf) return leaf(n, d, e, q, ld);
  const int64_t half = n / 2;
  const double rho = e[half - 1];
  d[half - 1] -= std::abs(rho);
  d[half] -= std::abs(rho);
  for (int64_t j = 0; j < n; j++)
    std::fill(q + j * ld + (j < half ? half : 0), q + j * ld + (j < half ? n : half), R(0));
  bool done[2];
  parallel_for(0, 2, n >= 64 ? 1 : 2, [&](int64_t begin, int64_t end) {
    for (int64_t side = begin; side < end; side++)
      done[side] = side ? conquer(n - half, d + half, e + half, q + half * (ld + 1), ld) : conquer(half, d, e, q, ld);
  });
  if (!done[0] || !done[1]) return false;
  merge(n, half, rho, d, q, ld);
  return true;
}

}  // namespace

template <class R>
bool tridiagonal_vectors(int64_t n, double* d, double* e, R* q, int64_t ld) {
  return n == 0 || conquer(n, d, e, q, ld);
}

// QL on the squares of e, which needs no square roots (Pal, Walker and Kahan).
bool tridiagonal_values(int64_t n, double* d, double* e) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) most = std::max({most, std::abs(d[i]), i + 1 < n ? std::abs(e[i]) : 0.0});
  const double least = kEps * most * 0x1p-4;  // far below the round-off of the values
  for (int64_t i = 0; i + 1 < n; i++) e[i] *= e[i];
  for (int64_t l = 0; l < n; l++) {
    for (int tries = 0;; tries++) {
      int64_t m = l;
      while (m + 1 < n && e[m] > kEps * kEps * std::abs(d[m] * d[m + 1]) + least * least) m++;
      if (m < n - 1) e[m] = 0;
      if (m == l) break;
      if (tries == kTries) return false;
      double beside = std::sqrt(e[l]), g = (d[l + 1] - d[l]) / (2 * beside),
             shift = d[l] - beside / (g + std::copysign(std::hypot(g, 1.0), g));
      double c = 1, s = 0, gamma = d[m] - shift, p = gamma * gamma;
      for (int64_t i = m - 1; i >= l; i--) {
        double b = e[i], r = p + b, old_c = c, old_gamma = gamma;
        if (i != m - 1) e[i + 1] = s * r;
        c = p / r;
        s = b / r;
        gamma = c * (d[i] - shift) - s * old_gamma;
        d[i + 1] = old_gamma + (d[i] - gamma);
        p = c != 0 ? gamma * gamma / c : old_c * b;
      }
      e[l] = s * p;
      d[l] = shift + gamma;
    }
  }
  return true;
}

template bool tridiagonal_vectors<float>(int64_t, double*, double*, float*, int64_t);
template bool tridiagonal_vectors<double>(int64_t, double*, double*, double*, int64_t);

}  // namespace undertow::core::cpu
