// eig.cpp: eigenvalues and eigenvectors of a general matrix: reflections to Hessenberg form, shifted QR steps to Schur
// form, back substitution for the vectors. Complex throughout: a real matrix has complex eigenvalues anyway.
#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/linalg/reflections.h"
#include "core/kernels/cpu/matmul/gemm.h"

namespace undertow::core::cpu {

namespace {

template <class R>
using C = std::complex<R>;

// a = Z H Z^H with H zero below the first subdiagonal; z becomes Z, unless null.
template <class R>
void hessenberg(int64_t n, C<R>* a, int64_t ld, C<R>* z, int64_t ldz) {
  const DenseKernels<C<R>>& kernels = dense_kernels<C<R>>();
  std::vector<C<R>> product(static_cast<size_t>(n)), tau(static_cast<size_t>(n));
  for (int64_t k = 0; k + 1 < n; k++) {
    int64_t left = n - k - 1;
    C<R>*v = a + k + 1 + k * ld, *rest = a + (k + 1) * ld;
    C<R> t = tau[static_cast<size_t>(k)] = reflection(left, v), beta = v[0];
    if (t == C<R>(0)) continue;
    reflect_left(left, left, v, std::conj(t), rest + k + 1, ld);
    // From the right: A (I - tau v v^H).
    v[0] = C<R>(1);
    std::fill(product.begin(), product.end(), C<R>(0));
    combine_shared(n, left, rest, ld, v, product.data());
    for (int64_t j = 0; j < left; j++) {
      C<R> f = -t * std::conj(v[j]);
      kernels.combine(n, 1, product.data(), n, &f, rest + j * ld);
    }
    v[0] = beta;
  }
  if (z && n > 0) {
    for (int64_t j = 0; j < n; j++) {
      std::fill(z + j * ldz, z + j * ldz + n, C<R>(0));
      if (j) std::copy_n(a + j + (j - 1) * ld, n - j, z + j + j * ldz);
    }
    z[0] = C<R>(1);
    if (n > 1) form_q(n - 1, n - 1, n - 1, z + ldz + 1, ldz, tau.data());
  }
  for (int64_t k = 0; k + 2 < n; k++) std::fill(a + k + 2 + k * ld, a + n + k * ld, C<R>(0));
}

// c and s, with c real, that rotate (x, y) to (r, 0): r = c x + s y, 0 = -conj(s) x + c y.
template <class R>
struct Rotation {
  R c;
  C<R> s;
};
template <class R>
Rotation<R> rotation_of(C<R> x, C<R> y) {
  R size = std::hypot(std::abs(x), std::abs(y));
  if (size == 0) return {1, C<R>(0)};
  if (x == C<R>(0)) return {0, std::conj(y) / std::abs(y)};
  C<R> phase = x / std::abs(x);
  return {std::abs(x) / size, phase * std::conj(y) / size};
}

// The eigenvalue of the last 2 by 2 block that is closer to its corner element.
template <class R>
C<R> shift_of(const C<R>* h, int64_t ld, int64_t last) {
  C<R> a = h[last - 1 + (last - 1) * ld], b = h[last - 1 + last * ld], c = h[last + (last - 1) * ld],
       d = h[last + last * ld];
  C<R> half = (a - d) / R(2), root = std::sqrt(half * half + b * c);
  if (std::real(std::conj(half) * root) < 0) root = -root;
  C<R> below = half + root;
  return below == C<R>(0) ? d : d - b * c / below;
}

// The rotations that make h triangular from row `first` to `last`, each computed from the result of the previous ones,
// and applied to all columns. Columns are processed in row-major tiles: along rows of h itself, every element would be
// in another cache line.
constexpr int64_t kColumns = 16;
template <class R>
void rotate_rows(int64_t n, C<R>* h, int64_t ld, int64_t first, int64_t last, Rotation<R>* rotations, C<R>* tile) {
  const auto rotate_row = dense_kernels<C<R>>().rotate_complex;
  auto apply = [](const Rotation<R>& t, C<R>* at) {
    C<R> x = at[0], y = at[1];
    at[0] = t.c * x + t.s * y;
    at[1] = t.c * y - std::conj(t.s) * x;
  };
  for (int64_t j = first; j < n; j += kColumns) {
    const int64_t width = std::min(kColumns, n - j), shared = std::min(j, last);
    if (shared > first) {
      for (int64_t c = 0; c < width; c++)
        for (int64_t i = first; i <= shared; i++) tile[(i - first) * kColumns + c] = h[i + (j + c) * ld];
      for (int64_t i = first; i < shared; i++) {
        C<R>* row = tile + (i - first) * kColumns;
        rotate_row(width, row, row + kColumns, C<R>(rotations[i].c), std::conj(rotations[i].s));
      }
      for (int64_t c = 0; c < width; c++)
        for (int64_t i = first; i <= shared; i++) h[i + (j + c) * ld] = tile[(i - first) * kColumns + c];
    }
    for (int64_t c = j; c < j + width; c++) {
      for (int64_t i = shared; i < std::min(c, last); i++) apply(rotations[i], h + i + c * ld);
      if (c >= last) continue;
      rotations[c] = rotation_of(h[c + c * ld], h[c + 1 + c * ld]);
      apply(rotations[c], h + c + c * ld);
    }
  }
}

template <class R>
bool schur(int64_t n, C<R>* h, int64_t ld, C<R>* z, int64_t ldz) {
  const R eps = std::numeric_limits<R>::epsilon();
  std::vector<Rotation<R>> rotations(static_cast<size_t>(n));
  std::vector<C<R>> tile(static_cast<size_t>(n * kColumns));
  auto size_of = [](C<R> x) { return std::abs(x.real()) + std::abs(x.imag()); };
  // Elements below the round-off of the largest one count as zero: blocks of only such elements might never converge.
  R least = std::numeric_limits<R>::min();
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < std::min(j + 2, n); i++) least = std::max(least, eps / 2 * size_of(h[i + j * ld]));
  int64_t last = n - 1;
  for (int tries = 0; last > 0; tries++) {
    int64_t first = last;
    while (first > 0) {
      R beside = size_of(h[first + (first - 1) * ld]),
        around = size_of(h[first - 1 + (first - 1) * ld]) + size_of(h[first + first * ld]);
      if (beside <= eps * around || beside <= least) break;
      first--;
    }
    if (first > 0) h[first + (first - 1) * ld] = 0;
    if (first == last) {
      last--;
      tries = -1;
      continue;
    }
    if (tries == 120) return false;
    // An exceptional shift now and then, for matrices on which the usual one makes no progress.
    C<R> shift =
        tries % 12 == 11 ? C<R>(std::abs(h[last + (last - 1) * ld])) + h[last + last * ld] : shift_of(h, ld, last);
    for (int64_t i = first; i <= last; i++) h[i + i * ld] -= shift;
    rotate_rows(n, h, ld, first, last, rotations.data(), tile.data());
    const auto rotate_columns = dense_kernels<C<R>>().rotate_complex;
    for (int64_t i = first; i < last; i++) {
      Rotation<R> t = rotations[static_cast<size_t>(i)];
      rotate_columns(std::min(i + 2, last + 1), h + i * ld, h + (i + 1) * ld, C<R>(t.c), t.s);
      if (z) rotate_columns(n, z + i * ldz, z + (i + 1) * ldz, C<R>(t.c), t.s);
    }
    for (int64_t i = first; i <= last; i++) h[i + i * ld] += shift;
  }
  return true;
}

}  // namespace

template <class R>
bool eig(int64_t n, C<R>* a, int64_t ld, C<R>* values, C<R>* v, int64_t ldv) {
  // Scaled, so that squares neither overflow nor underflow.
  R most = 0;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i < n; i++)
      most = std::max({most, std::abs(a[i + j * ld].real()), std::abs(a[i + j * ld].imag())});
  const R scale = most > 0 && (most < R(1e-3) || most > R(1e3)) ? most : R(1);
  if (scale != R(1))
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = 0; i < n; i++) a[i + j * ld] /= scale;
  hessenberg(n, a, ld, v, ldv);
  if (!schur(n, a, ld, v, ldv)) return false;
  R norm = 0;
  for (int64_t j = 0; j < n; j++) {
    values[j] = a[j + j * ld];
    for (int64_t i = 0; i <= j; i++) norm = std::max(norm, std::abs(a[i + j * ld]));
  }
  if (!v) {
    for (int64_t j = 0; j < n; j++) values[j] *= scale;
    return true;
  }
  const R least = std::max(std::numeric_limits<R>::epsilon() * norm, std::sqrt(std::numeric_limits<R>::min()));
  std::vector<C<R>> x(static_cast<size_t>(n * n), C<R>(0)), all(static_cast<size_t>(n * n));
  const DenseKernels<C<R>>& kernels = dense_kernels<C<R>>();
  parallel_for(0, n, std::max<int64_t>(1, 32768 / (n * n / 2 + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) {
      // Solves (T - t_kk) x = 0 with x_k = 1, upwards; the elements above are divided when their turn comes.
      C<R>* to = x.data() + k * n;
      std::copy_n(a + k * ld, k, to);
      to[k] = C<R>(1);
      for (int64_t i = k - 1; i >= 0; i--) {
        C<R> gap = values[k] - a[i + i * ld];
        if (std::abs(gap) < least) gap = least;
        to[i] /= gap;
        // A defective matrix gives ever larger elements.
        if (R large = std::abs(to[i]); large > R(1e12))
          for (int64_t r = 0; r <= k; r++) to[r] /= large;
        kernels.combine(i, 1, a + i * ld, ld, to + i, to);
      }
    }
  });
  gemm<C<R>>(n, n, n, C<R>(1), v, 1, ldv, x.data(), 1, n, C<R>(0), all.data(), 1, n);
  for (int64_t k = 0; k < n; k++) {
    C<R>* to = all.data() + k * n;
    R length = length_of(n, to);
    // Makes the greatest element real, to fix the phase.
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
      if (std::norm(to[i]) > std::norm(to[best])) best = i;
    C<R> phase = length > 0 && to[best] != C<R>(0) ? std::conj(to[best]) / std::abs(to[best]) / length : C<R>(1);
    for (int64_t i = 0; i < n; i++) to[i] *= phase;
  }
  for (int64_t k = 0; k < n; k++) {
    std::copy_n(all.data() + k * n, n, v + k * ldv);
    values[k] *= scale;
  }
  return true;
}

template bool eig<float>(int64_t, C<float>*, int64_t, C<float>*, C<float>*, int64_t);
template bool eig<double>(int64_t, C<double>*, int64_t, C<double>*, C<double>*, int64_t);

}  // namespace undertow::core::cpu
