// svd.cpp: singular values: reduction to a real bidiagonal matrix by reflections from both sides, half of whose work is
// matrix products; singular values of that matrix (divide_and_conquer.h); and back-transformation of its vectors. Tall
// matrices are reduced to R first.
// build: small
#include <algorithm>
#include <limits>

#include "core/kernels/cpu/linalg/divide_and_conquer.h"
#include "core/kernels/cpu/linalg/reflections.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {

namespace {

struct Panel;    // scratch
struct Vectors;  // scratch

constexpr int64_t kPanel = 32;  // columns and rows reduced before the rest is updated

// a = Q B P^H: B has diagonal d and superdiagonal e. The reflectors of Q stay in a below the diagonal, those of P go to
// p, n by n, below its first subdiagonal. Within a panel the matrix is A - U Y^H - X V^H, with A not yet changed.
template <class T>
void bidiagonalize(int64_t m, int64_t n, T* a, int64_t ld, double* d, double* e, T* tau_q, T* p, T* tau_p) {
  const DenseKernels<T>& kernels = dense_kernels<T>();
  T* memory = Scratch<Panel>::get<T>(2 * kPanel * (m + 2 * n) + 4 * kPanel);
  T *us = memory, *xs = us + m * kPanel, *ys = xs + m * kPanel, *vs = ys + n * kPanel, *conjugated = vs + n * kPanel,
    *dots = conjugated + 2 * n * kPanel;
  // to += sign * columns * factors, for columns of `rows` rows; the factors are products with a vector.
  auto subtract = [&](int64_t rows, int64_t count, const T* columns, int64_t stride, T* to) {
    for (int64_t j = 0; j < count; j++) dots[j] = -dots[j];
    kernels.combine(rows, count, columns, stride, dots, to);
  };
  for (int64_t k0 = 0; k0 < n; k0 += kPanel) {
    const int64_t width = std::min(kPanel, n - k0);
    for (int64_t i = 0; i < width; i++) {
      const int64_t k = k0 + i, rows = m - k, left = n - k - 1;
      T *column = a + k + k * ld, *u = us + k + i * m, *y = ys + k + 1 + i * n, *v = vs + k + 1 + i * n,
        *x = xs + k + 1 + i * m;
      for (int64_t j = 0; j < i; j++) dots[j] = conj_of(ys[k + j * n]);
      subtract(rows, i, us + k, m, column);
      for (int64_t j = 0; j < i; j++) dots[j] = conj_of(vs[k + j * n]);
      subtract(rows, i, xs + k, m, column);
      tau_q[k] = reflection(rows, column);
      d[k] = static_cast<double>(std::real(column[0]));
      std::copy_n(column, rows, u);
      u[0] = T(1);
      if (left == 0) continue;
      // y = tau A^H u
      dots_shared(rows, left, column + ld, ld, u, y);
      kernels.dots(rows, i, us + k, m, u, dots);
      subtract(left, i, ys + k + 1, n, y);
      kernels.dots(rows, i, xs + k, m, u, dots);
      subtract(left, i, vs + k + 1, n, y);
      for (int64_t j = 0; j < left; j++) y[j] *= tau_q[k];
      // The row, conjugated.
      for (int64_t j = 0; j < left; j++) v[j] = conj_of(column[(j + 1) * ld]);
      for (int64_t j = 0; j <= i; j++) dots[j] = conj_of(us[k + j * m]);
      subtract(left, i + 1, ys + k + 1, n, v);
      for (int64_t j = 0; j < i; j++) dots[j] = conj_of(xs[k + j * m]);
      subtract(left, i, vs + k + 1, n, v);
      tau_p[k] = reflection(left, v);
      e[k] = static_cast<double>(std::real(v[0]));
      v[0] = T(1);
      std::copy_n(v, left, p + k + 1 + k * n);
      // x = tau A v
      std::fill(x, x + rows - 1, T(0));
      combine_shared(rows - 1, left, column + 1 + ld, ld, v, x);
      kernels.dots(left, i + 1, ys + k + 1, n, v, dots);
      subtract(rows - 1, i + 1, us + k + 1, m, x);
      kernels.dots(left, i, vs + k + 1, n, v, dots);
      subtract(rows - 1, i, xs + k + 1, m, x);
      for (int64_t j = 0; j < rows - 1; j++) x[j] *= tau_p[k];
    }
    const int64_t next = k0 + width;
    if (next >= n) break;
    for (int64_t j = 0; j < 2 * kPanel; j++)
      for (int64_t i = next; i < n; i++) conjugated[i + j * n] = conj_of(ys[i + j * n]);
    gemm<T>(m - next, n - next, 2 * kPanel, T(-1), us + next, 1, m, conjugated + next, n, 1, T(1), a + next * (ld + 1),
            1, ld);
  }
}

// Singular values of the bidiagonal matrix, descending.
template <class R>
bool values_of(int64_t n, double* d, double* e, double back, R* s) {
  if constexpr (sizeof(R) == 4) {
    // As square roots of the eigenvalues of B^T B: in double, squaring loses nothing at float precision.
    for (int64_t i = n - 1; i >= 0; i--) {
      double above = i ? e[i - 1] : 0.0, diagonal = d[i];
      if (i + 1 < n) e[i] *= diagonal;
      d[i] = diagonal * diagonal + above * above;
    }
    if (!tridiagonal_values(n, d, e)) return false;
    for (int64_t i = 0; i < n; i++) d[i] = std::sqrt(std::max(0.0, d[i]));
  } else if (!bidiagonal_values(n, d, e)) {
    return false;
  }
  std::sort(d, d + n);
  for (int64_t i = 0; i < n; i++) s[i] = static_cast<R>(d[n - 1 - i] * back);
  return true;
}

}  // namespace

template <class T>
bool svd(int64_t m, int64_t n, T* a, int64_t ld, Real<T>* s, T* u, int64_t ldu, int64_t u_columns, T* v, int64_t ldv) {
  using R = Real<T>;
  R most = 0;
  bool finite = true;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) {
      R x = std::real(a[i + j * ld]), y = imag_of(a[i + j * ld]);
      finite = finite && std::isfinite(x) && std::isfinite(y);
      most = std::max({most, std::abs(x), std::abs(y)});
    }
  if (!finite) return false;
  auto identity_from = [&](int64_t rows, int64_t from) {
    for (int64_t j = from; u && j < u_columns; j++) {
      std::fill(u + j * ldu, u + j * ldu + m, T(0));
      if (j < rows) u[j + j * ldu] = T(1);
    }
  };
  if (n == 0) {
    identity_from(m, 0);
    return true;
  }
  // Scaled, so that squares neither overflow nor underflow.
  R scale = most > 0 && (most < R(1e-3) || most > R(1e3)) ? most : R(1);
  if (scale != R(1))
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < m; i++) a[i + j * ld] /= scale;
  const bool tall = 2 * m >= 3 * n && m > n;
  T* work = Scratch<Vectors>::get<T>((tall ? n * n : 0) + n * n + 3 * n + 2 * n * n + 8 * n);
  T *p = work, *tau_q = p + n * n, *tau_p = tau_q + n, *tau = tau_p + n, *square = tau + n;
  double* d = reinterpret_cast<double*>((reinterpret_cast<uintptr_t>(square + (tall ? n * n : 0)) + 7) & ~uintptr_t{7});
  double* e = d + n;
  T* reduced = a;
  int64_t rows = m, lead = ld;
  if (tall) {
    qr_factor(m, n, a, ld, tau);
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < n; i++) square[i + j * n] = i <= j ? a[i + j * ld] : T(0);
    reduced = square;
    rows = lead = n;
  }
  bidiagonalize(rows, n, reduced, lead, d, e, tau_q, p, tau_p);
  if (!u) return values_of<R>(n, d, e, static_cast<double>(scale), s);
  R *left = reinterpret_cast<R*>(e + n), *right = left + n * n;
  if (!bidiagonal_vectors(n, d, e, left, n, right, n)) return false;
  identity_from(m, n);
  for (int64_t j = 0; j < n; j++) {
    const int64_t from = (n - 1 - j) * n;
    s[j] = static_cast<R>(d[n - 1 - j] * static_cast<double>(scale));
    for (int64_t i = 0; i < n; i++) u[i + j * ldu] = left[from + i], v[i + j * ldv] = right[from + i];
    std::fill(u + j * ldu + n, u + j * ldu + m, T(0));
  }
  constexpr Application kForward{.adjoint = false, .skip_zeros = false};
  apply_reflections<T>(kForward, rows, tall ? n : u_columns, n, reduced, lead, tau_q, u, ldu);
  if (tall) apply_reflections<T>(kForward, m, u_columns, n, a, ld, tau, u, ldu);
  if (n > 1) apply_reflections<T>(kForward, n - 1, n, n - 1, p + 1, n, tau_p, v + 1, ldv);
  return true;
}

#define UT_DENSE_SVD(T) \
  template bool svd<T>(int64_t, int64_t, T*, int64_t, Real<T>*, T*, int64_t, int64_t, T*, int64_t);
UT_DENSE_SVD(float)
UT_DENSE_SVD(double)
UT_DENSE_SVD(std::complex<float>)
UT_DENSE_SVD(std::complex<double>)
#undef UT_DENSE_SVD

}  // namespace undertow::core::cpu
