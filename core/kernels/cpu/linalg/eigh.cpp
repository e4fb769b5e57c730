// eigh.cpp: the Hermitian eigenvalue problem: reduction to a real tridiagonal matrix by reflections, half of whose work
// is matrix products; eigenvalues of that matrix (divide_and_conquer.h); and back-transformation of its vectors.
// build: small
#include <algorithm>
#include <limits>

#include "core/base/parallel.h"
#include "core/kernels/cpu/linalg/divide_and_conquer.h"
#include "core/kernels/cpu/linalg/reflections.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {

namespace {

struct Panel;    // scratch
struct Shares;   // scratch
struct Vectors;  // scratch

constexpr int64_t kPanel = 32;        // columns reduced before the rest is updated
constexpr int64_t kUnblocked = 64;    // sizes too small for a panel
constexpr int64_t kStripe = 128;      // columns per update of the lower triangle
constexpr int64_t kSharedFrom = 400;  // size from which threads divide a matrix-vector product
constexpr int64_t kShares = 4;

// y = A x for Hermitian A, given by its lower triangle. The work is divided by size only, and partial results are added
// in order.
template <class T>
void hermitian_product(int64_t n, const T* a, int64_t ld, const T* x, T* y) {
  const DenseKernels<T>& kernels = dense_kernels<T>();
  std::fill(y, y + n, T(0));
  if (n < kSharedFrom) return kernels.hermitian(n, 0, n, a, ld, x, y);
  T* parts = Scratch<Shares>::get<T>((kShares - 1) * n);
  auto cut = [n](int64_t share) {  // equal areas
    return share == kShares ? n
                            : static_cast<int64_t>(static_cast<double>(n) *
                                                   (1 - std::sqrt(1 - static_cast<double>(share) / kShares))) /
                                  4 * 4;
  };
  parallel_for(0, kShares, 1, [&](int64_t begin, int64_t end) {
    for (int64_t share = begin; share < end; share++) {
      T* to = share ? parts + (share - 1) * n : y;
      if (share) std::fill(to, to + n, T(0));
      kernels.hermitian(n, cut(share), cut(share + 1), a, ld, x, to);
    }
  });
  for (int64_t share = 1; share < kShares; share++)
    for (int64_t i = cut(share); i < n; i++) y[i] += parts[(share - 1) * n + i];
}

// a = Q T Q^H: the diagonal of T goes to d, its off-diagonal to e; the reflectors of Q stay in a below the diagonal.
// Within a panel of columns the matrix is A - V W^H - W V^H, with A not yet changed.
template <class T>
void tridiagonalize(int64_t n, T* a, int64_t ld, double* d, double* e, T* tau) {
  const DenseKernels<T>& kernels = dense_kernels<T>();
  T* memory = Scratch<Panel>::get<T>(4 * n * kPanel + 4 * kPanel);
  T *both = memory, *other = both + 2 * n * kPanel, *row = other + 2 * n * kPanel,
    *dots = row + 2 * kPanel;  // [V W] and conj [W V]
  T *vs = both, *ws = both + n * kPanel;
  for (int64_t k0 = 0; k0 < n;) {
    const int64_t width = n - k0 > kUnblocked ? kPanel : n - k0;
    for (int64_t i = 0; i < width; i++) {
      // The last panel may be wider than kPanel; then the matrix is updated after each column.
      const int64_t k = k0 + i, left = n - k - 1, held = width > kPanel ? 0 : i;
      T *column = a + k + k * ld, *v = column + 1, *rest = a + (k + 1) * (ld + 1);
      if (held) {
        for (int64_t j = 0; j < held; j++) row[j] = -conj_of(ws[k + j * n]), row[kPanel + j] = -conj_of(vs[k + j * n]);
        kernels.combine(n - k, held, vs + k, n, row, column);
        kernels.combine(n - k, held, ws + k, n, row + kPanel, column);
      }
      d[k] = static_cast<double>(std::real(column[0]));
      if (left == 0) break;
      tau[k] = reflection(left, v);
      e[k] = static_cast<double>(std::real(v[0]));
      v[0] = T(1);
      T *kept_v = vs + held * n, *w = ws + held * n + k + 1;
      std::copy_n(v, left, kept_v + k + 1);
      kept_v[k] = T(0);
      if (tau[k] == T(0)) {
        std::fill(w, w + left, T(0));
        continue;
      }
      // x = tau A v; w = x - (tau x^H v / 2) v.
      hermitian_product(left, rest, ld, v, w);
      if (held) {
        kernels.dots(left, held, ws + k + 1, n, v, dots);
        for (int64_t j = 0; j < held; j++) dots[j] = -dots[j];
        kernels.combine(left, held, vs + k + 1, n, dots, w);
        kernels.dots(left, held, vs + k + 1, n, v, dots);
        for (int64_t j = 0; j < held; j++) dots[j] = -dots[j];
        kernels.combine(left, held, ws + k + 1, n, dots, w);
      }
      for (int64_t r = 0; r < left; r++) w[r] *= tau[k];
      T dot;
      kernels.dots(left, 1, w, left, v, &dot);
      T half = -tau[k] * dot / Real<T>(2);
      kernels.combine(left, 1, v, left, &half, w);
      if (width > kPanel) {
        for (int64_t j = 0; j < left; j++) {
          T factors[2] = {-conj_of(w[j]), -conj_of(v[j])};
          kernels.combine(left - j, 1, v + j, left, factors, rest + j + j * ld);
          kernels.combine(left - j, 1, w + j, left, factors + 1, rest + j + j * ld);
        }
      }
    }
    k0 += width;
    if (k0 >= n) break;
    for (int64_t j = 0; j < kPanel; j++)
      for (int64_t i = k0; i < n; i++) {
        other[i + j * n] = conj_of(ws[i + j * n]);
        other[i + (kPanel + j) * n] = conj_of(vs[i + j * n]);
      }
    for (int64_t j = k0; j < n; j += kStripe)
      gemm<T>(n - j, std::min(kStripe, n - j), 2 * kPanel, T(-1), both + j, 1, n, other + j, n, 1, T(1),
              a + j * (ld + 1), 1, ld);
  }
}

}  // namespace

template <class T>
bool eigh(int64_t n, T* a, int64_t ld, Real<T>* values, bool vectors) {
  using R = Real<T>;
  if (n == 0) return true;
  // Scaled, so that squares neither overflow nor underflow.
  R most = 0;
  bool finite = true;
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++) {
      R size = std::max(std::abs(std::real(a[i + j * ld])), std::abs(imag_of(a[i + j * ld])));
      finite = finite && std::isfinite(std::real(a[i + j * ld])) && std::isfinite(imag_of(a[i + j * ld]));
      most = std::max(most, size);
    }
  if (!finite) return false;
  const R scale = most > 0 ? most : R(1);
  if (scale < R(1e-3) || scale > R(1e3))
    for (int64_t j = 0; j < n; j++)
      for (int64_t i = j; i < n; i++) a[i + j * ld] /= scale;
  const double back = scale < R(1e-3) || scale > R(1e3) ? static_cast<double>(scale) : 1.0;
  double* memory = Scratch<Vectors>::get<double>(2 * n + 2 * n + (vectors ? n * n : 0));
  double *d = memory, *e = d + n;
  T* tau = reinterpret_cast<T*>(e + n);
  R* q = reinterpret_cast<R*>(e + 3 * n);
  tridiagonalize(n, a, ld, d, e, tau);
  if (!vectors) {
    if (!tridiagonal_values(n, d, e)) return false;
    std::sort(d, d + n);
    for (int64_t i = 0; i < n; i++) values[i] = static_cast<R>(d[i] * back);
    return true;
  }
  if (!tridiagonal_vectors(n, d, e, q, n)) return false;
  for (int64_t i = 0; i < n; i++) values[i] = static_cast<R>(d[i] * back);
  // Q is [1 0; 0 Q'], where Q' is the product of the reflections.
  if constexpr (std::is_floating_point_v<T>) {
    apply_reflections<T>({.adjoint = false, .skip_zeros = false}, n - 1, n, n - 1, a + 1, ld, tau, q + 1, n);
    for (int64_t j = 0; j < n; j++) std::copy_n(q + j * n, n, a + j * ld);
  } else {
    std::vector<T> eigenvectors(static_cast<size_t>(n * n));
    for (int64_t i = 0; i < n * n; i++) eigenvectors[static_cast<size_t>(i)] = q[i];
    apply_reflections<T>({.adjoint = false, .skip_zeros = false}, n - 1, n, n - 1, a + 1, ld, tau,
                         eigenvectors.data() + 1, n);
    for (int64_t j = 0; j < n; j++) std::copy_n(eigenvectors.data() + j * n, n, a + j * ld);
  }
  return true;
}

#define UT_DENSE_EIGH(T) template bool eigh<T>(int64_t, T*, int64_t, Real<T>*, bool);
UT_DENSE_EIGH(float)
UT_DENSE_EIGH(double)
UT_DENSE_EIGH(std::complex<float>)
UT_DENSE_EIGH(std::complex<double>)
#undef UT_DENSE_EIGH

}  // namespace undertow::core::cpu
