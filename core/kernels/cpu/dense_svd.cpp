// dense_svd.cpp: singular values by one-sided Jacobi rotations after a QR with column exchanges, which leaves little to
// rotate (Drmac and Veselic): small singular values keep their relative accuracy.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/kernels/cpu/dense_reflect.h"

namespace undertow::cpu {

namespace {

template <class T>
T* at(std::vector<T>& v, int64_t i) {
  return v.data() + i;
}

// a P = Q R, the longest remaining column first.
template <class T>
void pivoted_qr(int64_t m, int64_t n, T* a, int64_t ld, T* tau, std::vector<int64_t>& order) {
  std::iota(order.begin(), order.end(), int64_t{0});
  for (int64_t k = 0; k < n; k++) {
    int64_t best = k;
    Real<T> most = -1;
    for (int64_t j = k; j < n; j++) {
      Real<T> sum = 0;
      for (int64_t i = k; i < m; i++) sum += square_of(a[i + j * ld]);
      if (sum > most) most = sum, best = j;
    }
    if (best != k) {
      std::swap_ranges(a + k * ld, a + k * ld + m, a + best * ld);
      std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(best)]);
    }
    T* x = a + k + k * ld;
    tau[k] = reflection(m - k, x);
    reflect_left(m - k, n - k - 1, x, conj_of(tau[k]), x + ld, ld);
  }
}

template <class T, class R>
void turn(int64_t n, T* x, T* y, R c, R s, T phase) {
  for (int64_t i = 0; i < n; i++) {
    T low = x[i], high = y[i] * phase;
    x[i] = c * low - s * high;
    y[i] = s * low + c * high;
  }
}

// Turns pairs of columns of x until all are orthogonal; v, unless null, is turned along.
template <class T>
bool orthogonalize(int64_t n, T* x, T* v) {
  using R = Real<T>;
  const R tolerance = std::numeric_limits<R>::epsilon() * std::sqrt(static_cast<R>(n));
  for (int sweep = 0; sweep < 60; sweep++) {
    bool done = true;
    for (int64_t p = 0; p + 1 < n; p++)
      for (int64_t q = p + 1; q < n; q++) {
        T *a = x + p * n, *b = x + q * n, dot(0);
        R aa = 0, bb = 0;
        for (int64_t i = 0; i < n; i++) {
          aa += square_of(a[i]);
          bb += square_of(b[i]);
          dot += conj_of(a[i]) * b[i];
        }
        R size = std::sqrt(square_of(dot));
        if (std::isnan(size)) return false;
        if (!(size > tolerance * std::sqrt(aa) * std::sqrt(bb)) || size == 0) continue;
        done = false;
        // dot becomes real and positive with b turned by this phase; then the angle that makes it zero.
        T phase = conj_of(dot) / size;
        R zeta = (bb - aa) / (2 * size), t = std::copysign(R(1), zeta) / (std::abs(zeta) + std::hypot(R(1), zeta));
        R c = 1 / std::hypot(R(1), t), s = c * t;
        turn(n, a, b, c, s, phase);
        if (v) turn(n, v + p * n, v + q * n, c, s, phase);
      }
    if (done) return true;
  }
  return false;
}

// Columns of zeros become a completion of the others to an orthonormal basis.
template <class T>
void complete(int64_t n, T* x, const std::vector<bool>& is_zero) {
  std::vector<bool> known(is_zero.size());
  for (size_t i = 0; i < known.size(); i++) known[i] = !is_zero[i];
  int64_t unit = 0;
  for (int64_t j = 0; j < n; j++) {
    T* column = x + j * n;
    while (!known[static_cast<size_t>(j)]) {
      std::fill(column, column + n, T(0));
      column[unit++ % n] = T(1);
      for (int again = 0; again < 2; again++)
        for (int64_t k = 0; k < n; k++) {
          if (!known[static_cast<size_t>(k)]) continue;
          T dot(0);
          for (int64_t i = 0; i < n; i++) dot += conj_of(x[i + k * n]) * column[i];
          for (int64_t i = 0; i < n; i++) column[i] -= dot * x[i + k * n];
        }
      // Some unit vector is at least this long across any proper subspace.
      Real<T> length = length_of(n, column);
      if (length * length < Real<T>(0.5) / static_cast<Real<T>>(n)) continue;
      for (int64_t i = 0; i < n; i++) column[i] /= length;
      known[static_cast<size_t>(j)] = true;
    }
  }
}

}  // namespace

template <class T>
bool svd(int64_t m, int64_t n, T* a, int64_t ld, Real<T>* s, T* u, int64_t ldu, int64_t u_columns, T* v, int64_t ldv) {
  using R = Real<T>;
  R most = 0;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) {
      R x = std::max(std::abs(std::real(a[i + j * ld])), std::abs(imag_of(a[i + j * ld])));
      if (!std::isfinite(x)) return false;
      most = std::max(most, x);
    }
  R scale = most > 0 ? most : R(1);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < m; i++) a[i + j * ld] /= scale;
  std::vector<int64_t> columns(static_cast<size_t>(n)), order(static_cast<size_t>(n));
  std::vector<T> tau(static_cast<size_t>(n)), x(static_cast<size_t>(n * n), T(0)), turns(static_cast<size_t>(u ? n * n : 0), T(0));
  pivoted_qr(m, n, a, ld, tau.data(), columns);
  // x = R^H = X S W^H, so a P = Q R = (Q W) S X^H. W is what the rotations multiply to.
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i <= j; i++) x[static_cast<size_t>(j + i * n)] = conj_of(a[i + j * ld]);
  for (int64_t i = 0; u && i < n; i++) turns[static_cast<size_t>(i * (n + 1))] = T(1);
  if (!orthogonalize(n, x.data(), u ? turns.data() : static_cast<T*>(nullptr))) return false;
  std::vector<R> length(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; j++) length[static_cast<size_t>(j)] = length_of(n, at(x, j * n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return length[static_cast<size_t>(i)] > length[static_cast<size_t>(j)]; });
  for (int64_t j = 0; j < n; j++) s[j] = length[static_cast<size_t>(order[static_cast<size_t>(j)])] * scale;
  if (!u) return true;
  std::vector<bool> is_zero(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; j++) {
    R size = length[static_cast<size_t>(j)];
    is_zero[static_cast<size_t>(j)] = !(size > std::numeric_limits<R>::min());
    if (!is_zero[static_cast<size_t>(j)])
      for (int64_t i = 0; i < n; i++) x[static_cast<size_t>(i + j * n)] /= size;
  }
  complete(n, x.data(), is_zero);
  for (int64_t j = 0; j < n; j++) {
    int64_t from = order[static_cast<size_t>(j)];
    std::fill(u + j * ldu, u + j * ldu + m, T(0));
    std::copy_n(at(turns, from * n), n, u + j * ldu);
    for (int64_t i = 0; i < n; i++) v[columns[static_cast<size_t>(i)] + j * ldv] = x[static_cast<size_t>(i + from * n)];
  }
  for (int64_t j = n; j < u_columns; j++) {
    std::fill(u + j * ldu, u + j * ldu + m, T(0));
    u[j + j * ldu] = T(1);
  }
  for (int64_t k = n - 1; k >= 0; k--) reflect_left(m - k, u_columns, a + k + k * ld, tau[static_cast<size_t>(k)], u + k, ldu);
  return true;
}

#define UT_DENSE_SVD(T) template bool svd<T>(int64_t, int64_t, T*, int64_t, Real<T>*, T*, int64_t, int64_t, T*, int64_t);
UT_DENSE_SVD(float)
UT_DENSE_SVD(double)
UT_DENSE_SVD(std::complex<float>)
UT_DENSE_SVD(std::complex<double>)
#undef UT_DENSE_SVD

}  // namespace undertow::cpu
