// solve.cpp: recursive LU, triangular solves, inverses and Cholesky, so that nearly all the work is in matrix products.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernels/cpu/linalg/reflections.h"
#include "core/kernels/cpu/matmul/gemm.h"

namespace undertow::core::cpu {

namespace {

constexpr int64_t kSmall = kSubstituted;  // below this, plain loops beat products
constexpr int64_t kTiny = 8;              // below this, even a call costs more than plain loops
constexpr int64_t kStripe = 128;          // columns per update of a lower triangle

template <class T>
Real<T> size_of(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::abs(x);
  else
    return std::abs(x.real()) + std::abs(x.imag());  // LAPACK's criterion for complex pivots
}

template <class T>
void exchange_rows(T* a, int64_t ld, int64_t columns, int64_t first, int64_t last, const int32_t* pivots) {
  for (int64_t i = first; i < last; i++) {
    int64_t p = pivots[i] - 1;
    if (p != i)
      for (int64_t j = 0; j < columns; j++) std::swap(a[i + j * ld], a[p + j * ld]);
  }
}

// Column by column: each is updated by all previous columns, then its pivot is chosen.
template <class T>
int64_t lu_columns(int64_t m, int64_t n, T* a, int64_t ld, int32_t* pivots) {
  const DenseKernels<T>& kernels = dense_kernels<T>();
  const int64_t k = std::min(m, n);
  int64_t zero = 0;
  T factors[kSmall];
  for (int64_t c = 0; c < n; c++) {
    T* column = a + c * ld;
    const int64_t before = std::min(c, k);
    exchange_rows(column, ld, 1, 0, before, pivots);
    const int64_t solved = m <= kTiny ? m : before;
    for (int64_t i = 0; i < before; i++) {
      T f = column[i];
      if (f == T(0)) continue;
      for (int64_t r = i + 1; r < solved; r++) column[r] -= f * a[r + i * ld];
    }
    if (solved < m) {
      for (int64_t i = 0; i < before; i++) factors[i] = -column[i];
      kernels.combine(m - before, before, a + before, ld, factors, column + before);
    }
    if (c >= k) continue;
    int64_t best = c;
    for (int64_t r = c + 1; r < m; r++)
      if (size_of(column[r]) > size_of(column[best]) ||
          (std::isnan(size_of(column[r])) && !std::isnan(size_of(column[best]))))
        best = r;
    pivots[c] = static_cast<int32_t>(best + 1);
    if (column[best] == T(0)) {
      if (!zero) zero = c + 1;
      continue;
    }
    if (best != c)
      for (int64_t j = 0; j <= c; j++) std::swap(a[c + j * ld], a[best + j * ld]);
    T scale = T(1) / column[c];
    for (int64_t r = c + 1; r < m; r++) column[r] *= scale;
  }
  return zero;
}

}  // namespace

template <class T>
int64_t lu_factor(int64_t m, int64_t n, T* a, int64_t ld, int32_t* pivots) {
  int64_t k = std::min(m, n);
  if (k <= kSmall) return lu_columns(m, n, a, ld, pivots);
  // [A11 A12; A21 A22]: factor the left columns, apply their row exchanges to the right, solve for U12, update A22,
  // factor it.
  int64_t left = k / 2;
  T* right = a + left * ld;
  int64_t zero = lu_factor(m, left, a, ld, pivots);
  exchange_rows(right, ld, n - left, 0, left, pivots);
  solve_triangular<T>({.upper = false, .unit = true}, left, n - left, a, 1, ld, right, 1, ld);
  gemm<T>(m - left, n - left, left, T(-1), a + left, 1, ld, right, 1, ld, T(1), right + left, 1, ld);
  int64_t later = lu_factor(m - left, n - left, right + left, ld, pivots + left);
  for (int64_t i = left; i < k; i++) pivots[i] += static_cast<int32_t>(left);
  exchange_rows(a, ld, left, left, k, pivots);
  return zero ? zero : later ? later + left : 0;
}

template <class T>
void solve_triangular(Triangle shape, int64_t n, int64_t columns, const T* a, int64_t a_rs, int64_t a_cs, T* b,
                      int64_t b_rs, int64_t b_cs) {
  if (n > kSmall) {
    int64_t half = n / 2, rest = n - half;
    const T* corner = a + half * (a_rs + a_cs);
    T* low = b + half * b_rs;
    if (shape.upper) {
      solve_triangular(shape, rest, columns, corner, a_rs, a_cs, low, b_rs, b_cs);
      gemm<T>(half, columns, rest, T(-1), a + half * a_cs, a_rs, a_cs, low, b_rs, b_cs, T(1), b, b_rs, b_cs);
      solve_triangular(shape, half, columns, a, a_rs, a_cs, b, b_rs, b_cs);
    } else {
      solve_triangular(shape, half, columns, a, a_rs, a_cs, b, b_rs, b_cs);
      gemm<T>(rest, columns, half, T(-1), a + half * a_rs, a_rs, a_cs, b, b_rs, b_cs, T(1), low, b_rs, b_cs);
      solve_triangular(shape, rest, columns, corner, a_rs, a_cs, low, b_rs, b_cs);
    }
    return;
  }
  if (n > kTiny || columns > kTiny)
    return dense_kernels<T>().substitute(shape.upper, shape.unit, n, columns, a, a_rs, a_cs, b, b_rs, b_cs);
  for (int64_t j = 0; j < columns; j++) {
    T* x = b + j * b_cs;
    for (int64_t step = 0; step < n; step++) {
      int64_t i = shape.upper ? n - 1 - step : step;
      T v = x[i * b_rs];
      if (!shape.unit) v /= a[i * (a_rs + a_cs)];
      x[i * b_rs] = v;
      int64_t from = shape.upper ? 0 : i + 1, to = shape.upper ? i : n;
      for (int64_t r = from; r < to; r++) x[r * b_rs] -= a[r * a_rs + i * a_cs] * v;
    }
  }
}

template <class T>
void invert_upper(int64_t n, T* a, int64_t ld) {
  if (n > kSmall) {
    // [A B; 0 C]^-1 = [A^-1  -A^-1 B C^-1; 0 C^-1]
    const int64_t half = n / 2, rest = n - half;
    T *right = a + half * ld, *corner = right + half;
    invert_upper(half, a, ld);
    invert_upper(rest, corner, ld);
    std::vector<T> between(static_cast<size_t>(half * rest));
    gemm<T>(half, rest, half, T(1), a, 1, ld, right, 1, ld, T(0), between.data(), 1, half);
    gemm<T>(half, rest, rest, T(-1), between.data(), 1, half, corner, 1, ld, T(0), right, 1, ld);
    return;
  }
  T inverse[kSmall * kSmall];
  std::fill(inverse, inverse + n * n, T(0));
  for (int64_t i = 0; i < n; i++) inverse[i * (n + 1)] = T(1);
  solve_triangular<T>({.upper = true, .unit = false}, n, n, a, 1, ld, inverse, 1, n);
  for (int64_t j = 0; j < n; j++) {
    std::copy_n(inverse + j * n, j + 1, a + j * ld);
    std::fill(a + j * ld + j + 1, a + j * ld + n, T(0));
  }
}

template <class T>
void invert_factored(int64_t n, const T* lu, int64_t ld, const int32_t* pivots, T* out, int64_t ldo) {
  // A = P L U: the inverse is U^-1 L^-1 P^T.
  for (int64_t j = 0; j < n; j++) {
    std::copy_n(lu + j * ld, j + 1, out + j * ldo);
    std::fill(out + j * ldo + j + 1, out + j * ldo + n, T(0));
  }
  invert_upper(n, out, ldo);
  solve_triangular<T>({.upper = true, .unit = true}, n, n, lu, ld, 1, out, ldo, 1);
  for (int64_t i = n - 1; i >= 0; i--)
    if (int64_t p = pivots[i] - 1; p != i) std::swap_ranges(out + i * ldo, out + i * ldo + n, out + p * ldo);
}

template <class T>
int64_t cholesky(int64_t n, T* a, int64_t ld) {
  using R = Real<T>;
  if (n > kSmall) {
    int64_t half = n / 2, rest = n - half;
    T *low = a + half, *corner = a + half * (ld + 1);
    if (int64_t bad = cholesky(half, a, ld)) return bad;
    // L21 L11^H = A21, so conj(L11) L21^T = A21^T; then A22 - L21 L21^H.
    const T *conjugate = a, *conjugate_low = low;
    int64_t lead = ld, lead_low = ld;
    std::vector<T> memory;
    if constexpr (!std::is_floating_point_v<T>) {
      memory.resize(static_cast<size_t>(half * n));
      for (int64_t j = 0; j < half; j++)
        for (int64_t i = j; i < half; i++) memory[static_cast<size_t>(i + j * half)] = std::conj(a[i + j * ld]);
      conjugate = memory.data();
      lead = half;
    }
    solve_triangular<T>({.upper = false, .unit = false}, half, rest, conjugate, 1, lead, low, ld, 1);
    if constexpr (!std::is_floating_point_v<T>) {
      T* to = memory.data() + half * half;
      for (int64_t j = 0; j < half; j++)
        for (int64_t i = 0; i < rest; i++) to[i + j * rest] = std::conj(low[i + j * ld]);
      conjugate_low = to;
      lead_low = rest;
    }
    for (int64_t j = 0; j < rest; j += kStripe)  // only the lower triangle
      gemm<T>(rest - j, std::min(kStripe, rest - j), half, T(-1), low + j, 1, ld, conjugate_low + j, lead_low, 1, T(1),
              corner + j * (ld + 1), 1, ld);
    for (int64_t j = half; j < n; j++) std::fill(a + j * ld, a + j * ld + half, T(0));
    int64_t bad = cholesky(rest, corner, ld);
    return bad ? bad + half : 0;
  }
  T factors[kSmall];
  for (int64_t j = 0; j < n; j++) {
    T* column = a + j * ld;
    for (int64_t k = 0; k < j; k++) factors[k] = -conj_of(a[j + k * ld]);
    if (n > kTiny) {
      dense_kernels<T>().combine(n - j, j, a + j, ld, factors, column + j);
    } else {
      for (int64_t k = 0; k < j; k++)
        for (int64_t i = j; i < n; i++) column[i] += a[i + k * ld] * factors[k];
    }
    R pivot = std::real(column[j]);
    if (!(pivot > 0)) return j + 1;  // also true for NaN
    R root = std::sqrt(pivot);
    column[j] = T(root);
    for (int64_t i = j + 1; i < n; i++) column[i] /= root;
  }
  for (int64_t j = 1; j < n; j++) std::fill(a + j * ld, a + j * ld + j, T(0));
  return 0;
}

#define UT_DENSE_SOLVE(T)                                                                                          \
  template int64_t lu_factor<T>(int64_t, int64_t, T*, int64_t, int32_t*);                                          \
  template void solve_triangular<T>(Triangle, int64_t, int64_t, const T*, int64_t, int64_t, T*, int64_t, int64_t); \
  template void invert_upper<T>(int64_t, T*, int64_t);                                                             \
  template void invert_factored<T>(int64_t, const T*, int64_t, const int32_t*, T*, int64_t);                       \
  template int64_t cholesky<T>(int64_t, T*, int64_t);
UT_DENSE_SOLVE(float)
UT_DENSE_SOLVE(double)
UT_DENSE_SOLVE(std::complex<float>)
UT_DENSE_SOLVE(std::complex<double>)
#undef UT_DENSE_SOLVE

}  // namespace undertow::core::cpu
