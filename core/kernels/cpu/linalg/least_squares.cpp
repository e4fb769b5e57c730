// least_squares.cpp: least squares by QR for matrices of full rank; others need singular values.
// build: small
#include <vector>

#include "core/kernels/cpu/linalg/reflections.h"

namespace undertow::core::cpu {

namespace {

template <class T>
Real<T> size_of_upper(int64_t n, const T* a, int64_t ld) {
  Real<T> size = 0;
  for (int64_t j = 0; j < n; j++) size = std::hypot(size, length_of(j + 1, a + j * ld));
  return size;
}

}  // namespace

template <class T>
bool least_squares(bool adjoint, int64_t m, int64_t n, int64_t columns, T* a, int64_t ld, T* b, int64_t ldb,
                   Real<T> limit) {
  std::vector<T> tau(static_cast<size_t>(n)), square(static_cast<size_t>(n * n));
  qr_factor(m, n, a, ld, tau.data());
  for (int64_t i = 0; i < n; i++)
    if (a[i + i * ld] == T(0)) return false;
  for (int64_t j = 0; j < n; j++) std::copy_n(a + j * ld, j + 1, square.data() + j * n);
  // The largest singular value is at most the norm of R, the smallest at least the inverse of the norm of R^-1.
  const Real<T> most = size_of_upper(n, square.data(), n);
  invert_upper(n, square.data(), n);
  if (!(Real<T>(1) > limit * most * size_of_upper(n, square.data(), n))) return false;
  if (!adjoint) {
    apply_reflections<T>({.adjoint = true, .skip_zeros = false}, m, columns, n, a, ld, tau.data(), b, ldb);
    solve_triangular<T>({.upper = true, .unit = false}, n, columns, a, 1, ld, b, 1, ldb);
    return true;
  }
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = 0; i <= j; i++) square[static_cast<size_t>(i + j * n)] = conj_of(a[i + j * ld]);
  solve_triangular<T>({.upper = false, .unit = false}, n, columns, square.data(), n, 1, b, 1, ldb);
  for (int64_t j = 0; j < columns; j++) std::fill(b + n + j * ldb, b + m + j * ldb, T(0));
  apply_reflections<T>({.adjoint = false, .skip_zeros = false}, m, columns, n, a, ld, tau.data(), b, ldb);
  return true;
}

#define UT_DENSE_LEAST(T) \
  template bool least_squares<T>(bool, int64_t, int64_t, int64_t, T*, int64_t, T*, int64_t, Real<T>);
UT_DENSE_LEAST(float)
UT_DENSE_LEAST(double)
UT_DENSE_LEAST(std::complex<float>)
UT_DENSE_LEAST(std::complex<double>)
#undef UT_DENSE_LEAST

}  // namespace undertow::core::cpu
