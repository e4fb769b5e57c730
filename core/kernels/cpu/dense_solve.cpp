// dense_solve.cpp: LU, triangular solves and Cholesky by halves, so that nearly all the work is in matrix products.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernels/cpu/dense_reflect.h"
#include "core/kernels/cpu/gemm.h"

namespace undertow::cpu {

namespace {

constexpr int64_t kSmall = 24;  // below this, plain loops beat products

template <class T>
Real<T> size_of(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::abs(x);
  else return std::abs(x.real()) + std::abs(x.imag());  // as LAPACK chooses complex pivots
}

template <class T>
void exchange_rows(T* a, int64_t ld, int64_t columns, int64_t first, int64_t last, const int32_t* pivots) {
  for (int64_t i = first; i < last; i++) {
    int64_t p = pivots[i] - 1;
    if (p != i)
      for (int64_t j = 0; j < columns; j++) std::swap(a[i + j * ld], a[p + j * ld]);
  }
}

template <class T>
int64_t lu_loops(int64_t m, int64_t n, T* a, int64_t ld, int32_t* pivots) {
  int64_t zero = 0;
  for (int64_t c = 0; c < std::min(m, n); c++) {
    T* column = a + c * ld;
    int64_t best = c;
    for (int64_t r = c + 1; r < m; r++)
      if (size_of(column[r]) > size_of(column[best]) || (std::isnan(size_of(column[r])) && !std::isnan(size_of(column[best])))) best = r;
    pivots[c] = static_cast<int32_t>(best + 1);
    if (column[best] == T(0)) {
      if (!zero) zero = c + 1;
      continue;
    }
    if (best != c)
      for (int64_t j = 0; j < n; j++) std::swap(a[c + j * ld], a[best + j * ld]);
    T scale = T(1) / column[c];
    for (int64_t r = c + 1; r < m; r++) column[r] *= scale;
    for (int64_t j = c + 1; j < n; j++) {
      T f = a[c + j * ld];
      if (f == T(0)) continue;
      T* to = a + j * ld;
      for (int64_t r = c + 1; r < m; r++) to[r] -= f * column[r];
    }
  }
  return zero;
}

}  // namespace

template <class T>
int64_t lu_factor(int64_t m, int64_t n, T* a, int64_t ld, int32_t* pivots) {
  int64_t k = std::min(m, n);
  if (k <= kSmall) return lu_loops(m, n, a, ld, pivots);
  // [A11 A12; A21 A22]: factor the left columns, carry their exchanges to the right, solve for U12, update A22, factor it.
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
void solve_triangular(Triangle shape, int64_t n, int64_t columns, const T* a, int64_t a_rs, int64_t a_cs, T* b, int64_t b_rs, int64_t b_cs) {
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
int64_t cholesky(int64_t n, T* a, int64_t ld) {
  using R = Real<T>;
  if (n > kSmall) {
    int64_t half = n / 2, rest = n - half;
    T *low = a + half, *corner = a + half * (ld + 1);
    if (int64_t bad = cholesky(half, a, ld)) return bad;
    // L21 L11^H = A21, so conj(L11) L21^T = A21^T; then A22 - L21 L21^H.
    std::vector<T> turned(static_cast<size_t>(std::max(half * half, half * rest)));
    for (int64_t j = 0; j < half; j++)
      for (int64_t i = j; i < half; i++) turned[static_cast<size_t>(i + j * half)] = conj_of(a[i + j * ld]);
    solve_triangular<T>({.upper = false, .unit = false}, half, rest, turned.data(), 1, half, low, ld, 1);
    for (int64_t j = 0; j < half; j++)
      for (int64_t i = 0; i < rest; i++) turned[static_cast<size_t>(i + j * rest)] = conj_of(low[i + j * ld]);
    gemm<T>(rest, rest, half, T(-1), low, 1, ld, turned.data(), rest, 1, T(1), corner, 1, ld);
    for (int64_t j = half; j < n; j++) std::fill(a + j * ld, a + j * ld + half, T(0));
    int64_t bad = cholesky(rest, corner, ld);
    return bad ? bad + half : 0;
  }
  for (int64_t j = 0; j < n; j++) {
    T* column = a + j * ld;
    R pivot = std::real(column[j]);
    if (!(pivot > 0)) return j + 1;  // NaN too
    R root = std::sqrt(pivot);
    std::fill(column, column + j, T(0));
    column[j] = T(root);
    for (int64_t i = j + 1; i < n; i++) column[i] /= root;
    for (int64_t k = j + 1; k < n; k++) {
      T f = conj_of(column[k]);
      for (int64_t i = k; i < n; i++) a[i + k * ld] -= column[i] * f;
    }
  }
  return 0;
}

#define UT_DENSE_SOLVE(T)                                                                                                                       \
  template int64_t lu_factor<T>(int64_t, int64_t, T*, int64_t, int32_t*);                                                                       \
  template void solve_triangular<T>(Triangle, int64_t, int64_t, const T*, int64_t, int64_t, T*, int64_t, int64_t);                              \
  template int64_t cholesky<T>(int64_t, T*, int64_t);
UT_DENSE_SOLVE(float)
UT_DENSE_SOLVE(double)
UT_DENSE_SOLVE(std::complex<float>)
UT_DENSE_SOLVE(std::complex<double>)
#undef UT_DENSE_SOLVE

}  // namespace undertow::cpu
