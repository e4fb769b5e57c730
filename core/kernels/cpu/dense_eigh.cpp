// dense_eigh.cpp: Householder's QR, and the Hermitian eigenvalue problem: reduction to a real tridiagonal matrix by
// reflections, then QL steps with Wilkinson's shift on that.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "core/kernels/cpu/dense_reflect.h"

namespace undertow::cpu {

template <class T>
void qr_factor(int64_t m, int64_t n, T* a, int64_t ld, T* tau) {
  for (int64_t i = 0; i < std::min(m, n); i++) {
    T* x = a + i + i * ld;
    tau[i] = reflection(m - i, x);
    reflect_left(m - i, n - i - 1, x, conj_of(tau[i]), x + ld, ld);
  }
}

template <class T>
void form_q(int64_t m, int64_t columns, int64_t k, T* q, int64_t ld, const T* tau) {
  for (int64_t j = k; j < columns; j++) {
    std::fill(q + j * ld, q + j * ld + m, T(0));
    q[j + j * ld] = T(1);
  }
  for (int64_t i = k - 1; i >= 0; i--) {
    T* v = q + i + i * ld;
    reflect_left(m - i, columns - i - 1, v, tau[i], v + ld, ld);
    for (int64_t r = 1; r < m - i; r++) v[r] *= -tau[i];
    v[0] = T(1) - tau[i];
    std::fill(q + i * ld, v, T(0));
  }
}

namespace {

// a = Q T Q^H: the diagonal of T to d, what stands beside it to e; the reflections of Q stay in a below the diagonal.
template <class T>
void tridiagonalize(int64_t n, T* a, int64_t ld, Real<T>* d, Real<T>* e, T* tau) {
  std::vector<T> w(static_cast<size_t>(n));
  for (int64_t k = 0; k + 1 < n; k++) {
    int64_t left = n - k - 1;
    T *v = a + k + 1 + k * ld, *rest = a + (k + 1) * (ld + 1);
    tau[k] = reflection(left, v);
    e[k] = std::real(v[0]);
    d[k] = std::real(a[k + k * ld]);
    if (tau[k] == T(0)) continue;
    v[0] = T(1);
    // x = tau A v; w = x - (tau x^H v / 2) v; A -= v w^H + w v^H, the lower triangle alone.
    std::fill(w.begin(), w.begin() + left, T(0));
    for (int64_t j = 0; j < left; j++) {
      const T* column = rest + j * ld;
      w[static_cast<size_t>(j)] += std::real(column[j]) * v[j];
      T sum(0);
      for (int64_t i = j + 1; i < left; i++) {
        w[static_cast<size_t>(i)] += column[i] * v[j];
        sum += conj_of(column[i]) * v[i];
      }
      w[static_cast<size_t>(j)] += sum;
    }
    T dot(0);
    for (int64_t i = 0; i < left; i++) {
      w[static_cast<size_t>(i)] *= tau[k];
      dot += conj_of(w[static_cast<size_t>(i)]) * v[i];
    }
    T half = tau[k] * dot / Real<T>(2);
    for (int64_t i = 0; i < left; i++) w[static_cast<size_t>(i)] -= half * v[i];
    for (int64_t j = 0; j < left; j++) {
      T wj = conj_of(w[static_cast<size_t>(j)]), vj = conj_of(v[j]);
      T* column = rest + j * ld;
      for (int64_t i = j; i < left; i++) column[i] -= v[i] * wj + w[static_cast<size_t>(i)] * vj;
    }
  }
  d[n - 1] = std::real(a[(n - 1) * (ld + 1)]);
}

// Columns i and i + 1 of z turned by (c, s).
template <class T, class R>
void turn(int64_t n, T* z, int64_t ld, int64_t i, R c, R s) {
  T *x = z + i * ld, *y = x + ld;
  for (int64_t k = 0; k < n; k++) {
    T high = y[k];
    y[k] = s * x[k] + c * high;
    x[k] = c * x[k] - s * high;
  }
}

// QL with implicit shifts on the tridiagonal (d, e); z, unless null, is turned along.
template <class T, class R>
bool ql(int64_t n, R* d, R* e, T* z, int64_t ld) {
  const R eps = std::numeric_limits<R>::epsilon();
  e[n - 1] = 0;
  for (int64_t l = 0; l < n; l++) {
    for (int tries = 0;; tries++) {
      int64_t m = l;
      while (m + 1 < n && std::abs(e[m]) > eps * (std::abs(d[m]) + std::abs(d[m + 1]))) m++;
      if (m == l) break;
      if (tries == 60) return false;
      R g = (d[l + 1] - d[l]) / (2 * e[l]);
      g = d[m] - d[l] + e[l] / (g + std::copysign(std::hypot(g, R(1)), g));
      R s = 1, c = 1, p = 0;
      int64_t i = m - 1;
      for (; i >= l; i--) {
        R f = s * e[i], b = c * e[i], r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0) break;
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        R t = (d[i] - g) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        if (z) turn(n, z, ld, i, c, s);
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

}  // namespace

template <class T>
bool eigh(int64_t n, T* a, int64_t ld, Real<T>* values, bool vectors) {
  using R = Real<T>;
  if (n == 0) return true;
  std::vector<R> d(static_cast<size_t>(n)), e(static_cast<size_t>(n));
  std::vector<T> tau(static_cast<size_t>(n));
  // Scaled, so that squares neither overflow nor vanish.
  R most = 0;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++) most = std::max({most, std::abs(std::real(a[i + j * ld])), std::abs(imag_of(a[i + j * ld]))});
  R scale = most > 0 && std::isfinite(most) ? most : R(1);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++) a[i + j * ld] /= scale;
  tridiagonalize(n, a, ld, d.data(), e.data(), tau.data());
  if (vectors) {
    // Q is [1 0; 0 Q'], Q' of the reflections, each moved one column to the right.
    for (int64_t j = n - 1; j > 0; j--)
      for (int64_t i = 0; i < n; i++) a[i + j * ld] = i > j - 1 ? a[i + (j - 1) * ld] : T(0);
    std::fill(a, a + n, T(0));
    a[0] = T(1);
    form_q(n - 1, n - 1, n - 1, a + ld + 1, ld, tau.data());
  }
  if (!ql(n, d.data(), e.data(), vectors ? a : static_cast<T*>(nullptr), ld)) return false;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return d[static_cast<size_t>(x)] < d[static_cast<size_t>(y)]; });
  for (int64_t i = 0; i < n; i++) values[i] = d[static_cast<size_t>(order[static_cast<size_t>(i)])] * scale;
  if (!vectors) return true;
  std::vector<T> sorted(static_cast<size_t>(n * n));
  for (int64_t j = 0; j < n; j++) std::copy_n(a + order[static_cast<size_t>(j)] * ld, n, sorted.data() + j * n);
  for (int64_t j = 0; j < n; j++) std::copy_n(sorted.data() + j * n, n, a + j * ld);
  return true;
}

#define UT_DENSE_EIGH(T)                                                          \
  template void qr_factor<T>(int64_t, int64_t, T*, int64_t, T*);                  \
  template void form_q<T>(int64_t, int64_t, int64_t, T*, int64_t, const T*);      \
  template bool eigh<T>(int64_t, T*, int64_t, Real<T>*, bool);
UT_DENSE_EIGH(float)
UT_DENSE_EIGH(double)
UT_DENSE_EIGH(std::complex<float>)
UT_DENSE_EIGH(std::complex<double>)
#undef UT_DENSE_EIGH

}  // namespace undertow::cpu
