// bidiagonal.cpp: singular values of a real bidiagonal matrix: implicit QR steps (Golub and Kahan) for small matrices
// and if no vectors are needed, else divide and conquer (Gu and Eisenstat), whose work is mostly matrix products.
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
// Relative to the largest element, which is first scaled to about one: smaller values are zero compared with round-off.
constexpr double kTiny = 0x1p-55;
constexpr double kFloor = 0x1p-100;  // lower bound for the norm of a block that its tolerance is based on
// Steps per singular value of a small matrix; more for large ones, whose small values converge slowly.
constexpr int64_t kTries = 75;

// r and the rotation that maps (f, g) to (r, 0).
struct Rotation {
  double r, c, s;
  Rotation(double f, double g) : r(std::sqrt(f * f + g * g)), c(1), s(0) {
    if (!(r > 0x1p-500)) r = std::hypot(f, g);
    if (r > 0) c = f / r, s = g / r;
  }
};

// Columns to apply rotations to; none if data is null.
struct Columns {
  double* data;
  int64_t rows;
  void rotate(int64_t i, int64_t j, const Rotation& by) const {
    if (data) dense_kernels<double>().rotate(rows, data + i * rows, data + j * rows, by.c, -by.s);
  }
};

// d becomes the singular values, unsorted; e has n elements, of which the first n - 1 are the superdiagonal.
bool golub_kahan(int64_t n, double* d, double* e, Columns u, Columns v) {
  e[n - 1] = 0;
  int64_t tries = 0, faced = 0;
  for (int64_t end = n; end > 0;) {
    int64_t k = end - 2;
    while (k >= 0 && std::abs(e[k]) > kTiny + kEps * (std::abs(d[k]) + std::abs(d[k + 1]))) k--;
    if (k >= 0) e[k] = 0;
    const int64_t first = k + 1;
    if (first == end - 1) {  // one value has converged
      if (d[first] < 0) {
        d[first] = -d[first];
        if (v.data)
          for (int64_t i = 0; i < v.rows; i++) v.data[i + first * v.rows] *= -1;
      }
      end--;
      tries = 0;
      continue;
    }
    int64_t zero = end - 1;
    while (zero >= first && std::abs(d[zero]) > kTiny + kEps * ((zero < end - 1 ? std::abs(e[zero]) : 0) +
                                                                (zero > first ? std::abs(e[zero - 1]) : 0)))
      zero--;
    if (zero == end - 1) {  // the last diagonal element is zero: chase the element above it upwards
      double f = e[end - 2];
      d[zero] = e[end - 2] = 0;
      for (int64_t j = end - 2; j >= first; j--) {
        Rotation by(d[j], f);
        d[j] = by.r;
        if (j > first) {
          f = -by.s * e[j - 1];
          e[j - 1] *= by.c;
        }
        v.rotate(j, end - 1, by);
      }
      continue;
    }
    if (zero >= first) {  // a zero inside: chase the element to its right to the end
      double f = e[zero];
      d[zero] = e[zero] = 0;
      for (int64_t j = zero + 1; j < end; j++) {
        Rotation by(d[j], f);
        d[j] = by.r;
        f = -by.s * e[j];
        e[j] *= by.c;
        u.rotate(j, zero, by);
      }
      continue;
    }
    if (++tries > kTries + 6 * n) return false;
    // The steps find small values last. The transpose, read from its other corner, is also bidiagonal and has the same
    // values. This is decided once per `end`, to avoid flipping back and forth.
    if (!u.data && !v.data && end != faced && std::abs(d[first]) < std::abs(d[end - 1])) {
      std::reverse(d + first, d + end);
      std::reverse(e + first, e + end - 1);
    }
    faced = end;
    double last = d[end - 1], before = d[end - 2], beside = e[end - 2];
    double b = ((before + last) * (before - last) + beside * beside) / 2, c = (last * beside) * (last * beside),
           shift = 0;
    if (b != 0 || c != 0) shift = c / (b + std::copysign(std::sqrt(b * b + c), b));
    double f = (d[first] + last) * (d[first] - last) + shift, g = d[first] * e[first];
    for (int64_t j = first; j < end - 1; j++) {
      Rotation right(f, g);
      if (j > first) e[j - 1] = right.r;
      f = right.c * d[j] + right.s * e[j];
      e[j] = right.c * e[j] - right.s * d[j];
      g = right.s * d[j + 1];
      d[j + 1] *= right.c;
      v.rotate(j, j + 1, right);
      Rotation left(f, g);
      d[j] = left.r;
      f = left.c * e[j] + left.s * d[j + 1];
      d[j + 1] = left.c * d[j + 1] - left.s * e[j];
      g = left.s * e[j + 1];
      e[j + 1] *= left.c;
      u.rotate(j, j + 1, left);
    }
    e[end - 2] = f;
  }
  return true;
}

// A block of n rows and n + extra columns: if extra, the last column of v becomes the null vector.
template <class R>
bool leaf(int64_t n, int64_t extra, double* d, double* e, R* u, int64_t ldu, R* v, int64_t ldv) {
  constexpr int64_t kMaxSize = kConquerLeaf + 1;
  const int64_t columns = n + extra;
  double left[kMaxSize * kMaxSize], right[kMaxSize * kMaxSize], beside[kMaxSize], values[kMaxSize];
  int64_t order[kMaxSize];
  std::fill(left, left + n * n, 0.0);
  std::fill(right, right + columns * columns, 0.0);
  for (int64_t i = 0; i < n; i++) left[i * (n + 1)] = 1;
  for (int64_t i = 0; i < columns; i++) right[i * (columns + 1)] = 1;
  std::copy_n(e, n - 1, beside);
  Columns us{left, n}, vs{right, columns};
  if (extra) {
    double f = e[n - 1];
    for (int64_t j = n - 1; j >= 0; j--) {
      Rotation by(d[j], f);
      d[j] = by.r;
      if (j > 0) {
        f = -by.s * beside[j - 1];
        beside[j - 1] *= by.c;
      }
      vs.rotate(j, n, by);
    }
  }
  if (!golub_kahan(n, d, beside, us, vs)) return false;
  std::iota(order, order + n, int64_t{0});
  std::stable_sort(order, order + n, [&](int64_t x, int64_t y) { return d[x] < d[y]; });
  order[n] = n;
  for (int64_t j = 0; j < columns; j++) {
    for (int64_t i = 0; i < columns; i++) v[i + j * ldv] = static_cast<R>(right[i + order[j] * columns]);
    if (j == n) break;
    values[j] = d[order[j]];
    for (int64_t i = 0; i < n; i++) u[i + j * ldu] = static_cast<R>(left[i + order[j] * n]);
  }
  std::copy_n(values, n, d);
  return true;
}

// One side of a merge: columns selected by kind and multiplied by `mix`, whose rows have the same order.
template <class R>
struct Picked {
  // tops: columns with a top part; skipped: columns before the first one with a bottom part.
  int64_t top_rows, bottom_rows, tops, skipped, count;
  R *top, *bottom;
  void take(int64_t at, const R* column, int64_t gap) {  // gap: rows between the two parts
    if (at < tops) std::copy_n(column, top_rows, top + at * top_rows);
    if (at >= skipped) std::copy_n(column + top_rows + gap, bottom_rows, bottom + (at - skipped) * bottom_rows);
  }
  void multiply(int64_t k, const R* mix, int64_t ld_mix, R* out, int64_t ld, int64_t gap) {
    gemm<R>(top_rows, k, tops, R(1), top, 1, top_rows, mix, 1, ld_mix, R(0), out, 1, ld);
    gemm<R>(bottom_rows, k, count - skipped, R(1), bottom, 1, bottom_rows, mix + skipped, 1, ld_mix, R(0),
            out + top_rows + gap, 1, ld);
  }
};

// Row `half` of the matrix, with alpha at column `half` and beta to its right, joins two blocks already decomposed.
template <class R>
void merge(int64_t n, int64_t extra, int64_t half, double alpha, double beta, double* d, R* u, int64_t ldu, R* v,
           int64_t ldv) {
  const int64_t columns = n + extra, low_u = n - half - 1, low_v = columns - half - 1;
  double* numbers = Scratch<MergeNumbers>::get<double>(n * n + 6 * n);
  double *gaps = numbers, *z = gaps + n * n, *poles = z + n, *weights = poles + n, *roots = weights + n,
         *fitted = roots + n, *values = fitted + n;
  std::vector<int64_t> order(static_cast<size_t>(n)), active(static_cast<size_t>(n)), deflated(static_cast<size_t>(n));
  std::vector<ColumnKind> kind(static_cast<size_t>(n), kTop);
  auto at = [](auto& list, int64_t i) -> auto& { return list[static_cast<size_t>(i)]; };
  const auto rotate = dense_kernels<R>().rotate;

  double most = std::max({std::abs(alpha), std::abs(beta), kFloor});
  for (int64_t i = 0; i < n; i++) {
    z[i] =
        i <= half ? alpha * static_cast<double>(v[half + i * ldv]) : beta * static_cast<double>(v[half + 1 + i * ldv]);
    if (i > half) at(kind, i) = kBottom;
    if (i != half) most = std::max(most, d[i]);
  }
  const double tolerance = 8 * static_cast<double>(std::numeric_limits<R>::epsilon()) * most;
  d[half] = 0;
  at(kind, half) = kMixed;
  if (extra) {  // of the two null columns, one takes the whole row, and the other becomes that of the merged block
    Rotation by(z[half], beta * static_cast<double>(v[half + 1 + n * ldv]));
    if (by.r > tolerance) {
      rotate(columns, v + half * ldv, v + n * ldv, by.c, -by.s);
      z[half] = by.r;
    }
  }
  if (std::abs(z[half]) <= tolerance) z[half] = std::copysign(tolerance, z[half]);
  // In ascending order, without the middle element.
  for (int64_t i = 0; i + 1 < n; i++) at(order, i) = i < half ? i : i + 1;
  auto less = [&](int64_t x, int64_t y) { return d[x] < d[y]; };
  std::inplace_merge(order.begin(), order.begin() + half, order.begin() + n - 1, less);
  const int64_t k = 1 + deflate(n - 1, order.data(), d, z, kind.data(), 1.0, tolerance, active.data(), deflated.data(),
                                [&](int64_t i, int64_t j, double c, double s) {
                                  rotate(n, u + i * ldu, u + j * ldu, c, s);
                                  rotate(columns, v + i * ldv, v + j * ldv, c, s);
                                });
  poles[0] = 0;
  weights[0] = z[half];
  for (int64_t i = 1; i < k; i++) {
    poles[i] = std::max(d[at(active, i - 1)], tolerance / 2);
    weights[i] = z[at(active, i - 1)];
  }
  solve_secular({k, poles, weights, 1.0, true}, roots, gaps, fitted);

  // Columns by kind, so that those with a zero top or bottom part enter only one product; the middle one is mixed.
  std::vector<int64_t> grouped(static_cast<size_t>(k)), others;
  auto source = [&](int64_t i) { return i ? at(active, i - 1) : half; };
  std::iota(grouped.begin(), grouped.end(), int64_t{0});
  std::stable_sort(grouped.begin(), grouped.end(),
                   [&](int64_t x, int64_t y) { return at(kind, source(x)) < at(kind, source(y)); });
  int64_t only_top = 0, tops = 0;
  for (int64_t i = 0; i < k; i++) {
    only_top += at(kind, source(i)) == kTop;
    tops += at(kind, source(i)) != kBottom;
  }
  for (int64_t i : grouped)
    if (i) others.push_back(i);
  const int64_t sizes[] = {n * n, columns * n, k * k, k * k, half * tops, low_u * k, (half + 1) * tops, low_v * k};
  R* memory = Scratch<MergeColumns>::get<R>(std::accumulate(sizes, sizes + 8, int64_t{0}));
  R* part[8];
  for (int i = 0; i < 8; i++) part[i] = memory, memory += sizes[i];
  R *out_u = part[0], *out_v = part[1], *mix_u = part[2], *mix_v = part[3];
  parallel_for(0, k, std::max<int64_t>(1, 16384 / k), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; j++) {
      double* column = gaps + j * k;
      const SecularSums sums = secular_kernels().vector(k, fitted, poles, column);
      const double scale_u = 1 / std::sqrt(1 + sums.slope), scale_v = 1 / std::sqrt(sums.value);
      for (int64_t i = 0; i < k; i++) mix_v[i + j * k] = static_cast<R>(column[at(grouped, i)] * scale_v);
      for (int64_t i = 0; i + 1 < k; i++)
        mix_u[i + j * k] = static_cast<R>(poles[at(others, i)] * column[at(others, i)] * scale_u);
      out_u[half + j * n] = static_cast<R>(-scale_u);
    }
  });
  Picked<R> us{half, low_u, tops - 1, only_top, k - 1, part[4], part[5]},
      vs{half + 1, low_v, tops, only_top, k, part[6], part[7]};
  for (int64_t i = 0; i < k; i++) vs.take(i, v + source(at(grouped, i)) * ldv, 0);
  for (int64_t i = 0; i + 1 < k; i++) us.take(i, u + source(at(others, i)) * ldu, 1);
  us.multiply(k, mix_u, k, out_u, n, 1);
  vs.multiply(k, mix_v, k, out_v, columns, 0);

  for (int64_t i = 0; i < n - k; i++) {
    int64_t from = at(deflated, i);
    std::copy_n(u + from * ldu, n, out_u + (k + i) * n);
    std::copy_n(v + from * ldv, columns, out_v + (k + i) * columns);
    values[i] = d[from];
  }
  auto value = [&](int64_t i) { return i < k ? roots[i] : values[i - k]; };
  auto less_value = [&](int64_t x, int64_t y) { return value(x) < value(y); };
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin() + k, order.end(), less_value);
  std::inplace_merge(order.begin(), order.begin() + k, order.end(), less_value);
  for (int64_t j = 0; j < n; j++) {
    std::copy_n(out_u + at(order, j) * n, n, u + j * ldu);
    std::copy_n(out_v + at(order, j) * columns, columns, v + j * ldv);
    d[j] = value(at(order, j));
  }
}

template <class R>
bool conquer(int64_t n, int64_t extra, double* d, double* e, R* u, int64_t ldu, R* v, int64_t ldv) {
  if (n <= kConquerLeaf) return leaf(n, extra, d, e, u, ldu, v, ldv);
  const int64_t half = n / 2, columns = n + extra;
  const double alpha = d[half], beta = e[half];
  for (int64_t j = 0; j < n; j++) std::fill(u + j * ldu, u + j * ldu + n, R(0));
  for (int64_t j = 0; j < columns; j++) std::fill(v + j * ldv, v + j * ldv + columns, R(0));
  bool done[2];
  parallel_for(0, 2, n >= 64 ? 1 : 2, [&](int64_t begin, int64_t end) {
    for (int64_t side = begin; side < end; side++)
      done[side] = side ? conquer(n - half - 1, extra, d + half + 1, e + half + 1, u + (half + 1) * (ldu + 1), ldu,
                                  v + (half + 1) * (ldv + 1), ldv)
                        : conquer(half, int64_t{1}, d, e, u, ldu, v, ldv);
  });
  if (!done[0] || !done[1]) return false;
  merge(n, extra, half, alpha, beta, d, u, ldu, v, ldv);
  return true;
}

// Divides by a power of two that scales the largest element to about one; returns the divisor, or 0 if all are zero.
double normalize(int64_t n, double* d, double* e) {
  double most = 0;
  for (int64_t i = 0; i < n; i++) most = std::max({most, std::abs(d[i]), i + 1 < n ? std::abs(e[i]) : 0.0});
  if (most == 0) return 0;
  double scale = std::exp2(std::floor(std::log2(most)));
  for (int64_t i = 0; i < n; i++) {
    d[i] /= scale;
    if (i + 1 < n) e[i] /= scale;
  }
  return scale;
}

}  // namespace

template <class R>
bool bidiagonal_vectors(int64_t n, double* d, double* e, R* u, int64_t ldu, R* v, int64_t ldv) {
  double scale = normalize(n, d, e);
  if (scale == 0) {  // exactly zero, which merging would not preserve
    for (int64_t j = 0; j < n; j++) {
      std::fill(u + j * ldu, u + j * ldu + n, R(0));
      std::fill(v + j * ldv, v + j * ldv + n, R(0));
      u[j * (ldu + 1)] = v[j * (ldv + 1)] = R(1);
    }
    return true;
  }
  if (!conquer(n, int64_t{0}, d, e, u, ldu, v, ldv)) return false;
  for (int64_t i = 0; i < n; i++) d[i] *= scale;
  return true;
}

bool bidiagonal_values(int64_t n, double* d, double* e) {
  double scale = normalize(n, d, e);
  if (!golub_kahan(n, d, e, {nullptr, 0}, {nullptr, 0})) return false;
  for (int64_t i = 0; i < n; i++) d[i] *= scale;
  return true;
}

template bool bidiagonal_vectors<float>(int64_t, double*, double*, float*, int64_t, float*, int64_t);
template bool bidiagonal_vectors<double>(int64_t, double*, double*, double*, int64_t, double*, int64_t);

}  // namespace undertow::core::cpu
