// dense_eig.cpp: eigenvalues and eigenvectors of a general matrix: Hessenberg form by reflections, Schur form by shifted
// QR steps, vectors by substitution in the triangle. Complex throughout: a real matrix has complex eigenvalues anyway.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/kernels/cpu/dense_reflect.h"

namespace undertow::cpu {

namespace {

template <class R>
using C = std::complex<R>;

// a = Z H Z^H with H zero below the first subdiagonal; z, unless null, becomes Z.
template <class R>
void hessenberg(int64_t n, C<R>* a, int64_t ld, C<R>* z, int64_t ldz) {
  std::vector<C<R>> v(static_cast<size_t>(n));
  for (int64_t k = 0; k + 1 < n; k++) {
    int64_t left = n - k - 1;
    C<R>* x = a + k + 1 + k * ld;
    C<R> tau = reflection(left, x);
    std::copy_n(x, left, v.begin());
    v[0] = C<R>(1);
    std::fill(x + 1, x + left, C<R>(0));
    reflect_left(left, n - k - 1, v.data(), std::conj(tau), a + k + 1 + (k + 1) * ld, ld);
    // From the right: each row times I - tau v v^H.
    auto right = [&](C<R>* m, int64_t lead) {
      for (int64_t i = 0; i < n; i++) {
        C<R> dot(0);
        for (int64_t j = 0; j < left; j++) dot += m[i + (k + 1 + j) * lead] * v[static_cast<size_t>(j)];
        dot *= tau;
        for (int64_t j = 0; j < left; j++) m[i + (k + 1 + j) * lead] -= dot * std::conj(v[static_cast<size_t>(j)]);
      }
    };
    right(a, ld);
    if (z) right(z, ldz);
  }
}

// c and s, c real, that turn (x, y) to (r, 0): r = c x + s y, 0 = -conj(s) x + c y.
template <class R>
struct Turn {
  R c;
  C<R> s;
};
template <class R>
Turn<R> turn_of(C<R> x, C<R> y) {
  R size = std::hypot(std::abs(x), std::abs(y));
  if (size == 0) return {1, C<R>(0)};
  if (x == C<R>(0)) return {0, std::conj(y) / std::abs(y)};
  C<R> phase = x / std::abs(x);
  return {std::abs(x) / size, phase * std::conj(y) / size};
}

// The eigenvalue of the last 2 by 2 block that is nearer to its corner.
template <class R>
C<R> shift_of(const C<R>* h, int64_t ld, int64_t last) {
  C<R> a = h[last - 1 + (last - 1) * ld], b = h[last - 1 + last * ld], c = h[last + (last - 1) * ld], d = h[last + last * ld];
  C<R> half = (a - d) / R(2), root = std::sqrt(half * half + b * c);
  if (std::real(std::conj(half) * root) < 0) root = -root;
  C<R> below = half + root;
  return below == C<R>(0) ? d : d - b * c / below;
}

template <class R>
bool schur(int64_t n, C<R>* h, int64_t ld, C<R>* z, int64_t ldz) {
  const R eps = std::numeric_limits<R>::epsilon();
  std::vector<Turn<R>> turns(static_cast<size_t>(n));
  int64_t last = n - 1;
  for (int tries = 0; last > 0; tries++) {
    int64_t first = last;
    while (first > 0) {
      R beside = std::abs(h[first + (first - 1) * ld]), around = std::abs(h[first - 1 + (first - 1) * ld]) + std::abs(h[first + first * ld]);
      if (beside <= eps * (around > 0 ? around : R(1)) || beside < std::numeric_limits<R>::min()) break;
      first--;
    }
    if (first > 0) h[first + (first - 1) * ld] = 0;
    if (first == last) {
      last--;
      tries = -1;
      continue;
    }
    if (tries == 120) return false;
    // Now and then a shift out of order, for matrices that the usual one leaves as they are.
    C<R> shift = tries % 12 == 11 ? C<R>(std::abs(h[last + (last - 1) * ld])) + h[last + last * ld] : shift_of(h, ld, last);
    for (int64_t i = first; i <= last; i++) h[i + i * ld] -= shift;
    for (int64_t i = first; i < last; i++) {
      Turn<R> t = turns[static_cast<size_t>(i)] = turn_of(h[i + i * ld], h[i + 1 + i * ld]);
      for (int64_t j = i; j < n; j++) {
        C<R> x = h[i + j * ld], y = h[i + 1 + j * ld];
        h[i + j * ld] = t.c * x + t.s * y;
        h[i + 1 + j * ld] = t.c * y - std::conj(t.s) * x;
      }
    }
    auto right = [&](C<R>* m, int64_t lead, int64_t i, int64_t rows) {
      Turn<R> t = turns[static_cast<size_t>(i)];
      C<R>*p = m + i * lead, *q = p + lead;
      for (int64_t k = 0; k < rows; k++) {
        C<R> x = p[k], y = q[k];
        p[k] = t.c * x + std::conj(t.s) * y;
        q[k] = t.c * y - t.s * x;
      }
    };
    for (int64_t i = first; i < last; i++) {
      right(h, ld, i, std::min(i + 2, last + 1));
      if (z) right(z, ldz, i, n);
    }
    for (int64_t i = first; i <= last; i++) h[i + i * ld] += shift;
  }
  return true;
}

}  // namespace

template <class R>
bool eig(int64_t n, C<R>* a, int64_t ld, C<R>* values, C<R>* v, int64_t ldv) {
  for (int64_t j = 0; v && j < n; j++)
    for (int64_t i = 0; i < n; i++) v[i + j * ldv] = C<R>(i == j);
  hessenberg(n, a, ld, v, ldv);
  if (!schur(n, a, ld, v, ldv)) return false;
  R norm = 0;
  for (int64_t j = 0; j < n; j++) {
    values[j] = a[j + j * ld];
    for (int64_t i = 0; i <= j; i++) norm = std::max(norm, std::abs(a[i + j * ld]));
  }
  if (!v) return true;
  const R least = std::max(std::numeric_limits<R>::epsilon() * norm, std::numeric_limits<R>::min());
  std::vector<C<R>> x(static_cast<size_t>(n)), all(static_cast<size_t>(n * n));
  for (int64_t k = 0; k < n; k++) {
    // (T - t_kk) x = 0 with x_k = 1, upwards.
    std::fill(x.begin(), x.end(), C<R>(0));
    x[static_cast<size_t>(k)] = 1;
    for (int64_t i = k - 1; i >= 0; i--) {
      C<R> sum(0);
      for (int64_t j = i + 1; j <= k; j++) sum += a[i + j * ld] * x[static_cast<size_t>(j)];
      C<R> gap = values[k] - a[i + i * ld];
      if (std::abs(gap) < least) gap = least;
      x[static_cast<size_t>(i)] = sum / gap;
    }
    C<R>* to = all.data() + k * n;
    for (int64_t j = 0; j <= k; j++)
      for (int64_t i = 0; i < n; i++) to[i] += v[i + j * ldv] * x[static_cast<size_t>(j)];
    R length = length_of(n, to);
    // The greatest element real: one choice of phase among all.
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
      if (std::norm(to[i]) > std::norm(to[best])) best = i;
    C<R> turn = length > 0 && to[best] != C<R>(0) ? std::conj(to[best]) / std::abs(to[best]) / length : C<R>(1);
    for (int64_t i = 0; i < n; i++) to[i] *= turn;
  }
  for (int64_t k = 0; k < n; k++) std::copy_n(all.data() + k * n, n, v + k * ldv);
  return true;
}

template bool eig<float>(int64_t, C<float>*, int64_t, C<float>*, C<float>*, int64_t);
template bool eig<double>(int64_t, C<double>*, int64_t, C<double>*, C<double>*, int64_t);

}  // namespace undertow::cpu
