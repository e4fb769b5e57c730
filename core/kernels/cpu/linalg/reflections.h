// reflections.h: Householder reflections, single and in blocks, used by QR, eigenvalues and singular values.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/kernels/cpu/linalg/factorizations.h"
#include "core/kernels/cpu/linalg/linalg_kernels.h"

namespace undertow::core::cpu {

template <class T>
T conj_of(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return std::conj(x);
}
template <class T>
Real<T> square_of(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x * x;
  else
    return x.real() * x.real() + x.imag() * x.imag();
}
template <class T>
Real<T> imag_of(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return 0;
  else
    return x.imag();
}

// The norm of x, without intermediate overflow.
template <class T>
Real<T> length_of(int64_t n, const T* x) {
  using R = Real<T>;
  T square(0);
  if (n > 0) dense_kernels<T>().dots(n, 1, x, n, x, &square);
  R sum = std::real(square);
  // The plain sum of squares is accurate if it is far from overflow and underflow.
  constexpr R kLow = sizeof(R) == 4 ? R(1e-25) : R(1e-250), kHigh = sizeof(R) == 4 ? R(1e30) : R(1e300);
  if (sum > kLow && sum < kHigh) return std::sqrt(sum);
  R most = 0;
  sum = 0;
  for (int64_t i = 0; i < n; i++) most = std::max({most, std::abs(std::real(x[i])), std::abs(imag_of(x[i]))});
  if (!(most > 0) || std::isinf(most)) return most;
  for (int64_t i = 0; i < n; i++) sum += square_of(x[i] / most);
  return most * std::sqrt(sum);
}

// tau and v (v[0] = 1, the rest in x[1..]) such that (I - tau v v^H)^H x = (beta, 0, ..., 0) with a real beta, which
// x[0] becomes. beta has the opposite sign of x[0]'s real part, to avoid cancellation.
template <class T>
T reflection(int64_t n, T* x) {
  using R = Real<T>;
  R rest = length_of(n - 1, x + 1);
  if (rest == 0 && imag_of(x[0]) == 0) return T(0);
  R beta = std::hypot(std::hypot(std::real(x[0]), imag_of(x[0])), rest);
  constexpr R kMinSafe = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
  if (beta < kMinSafe) {  // its inverse might overflow
    for (int64_t i = 0; i < n; i++) x[i] *= R(1) / kMinSafe;
    T tau = reflection(n, x);
    x[0] *= kMinSafe;
    return tau;
  }
  if (std::real(x[0]) >= 0) beta = -beta;
  // Computes the inverse of x[0] - beta through its magnitude: the square in a complex division could overflow or
  // underflow.
  T tau = (T(beta) - x[0]) / beta, away = x[0] - beta;
  R size = std::hypot(std::real(away), imag_of(away));
  T scale = conj_of(away / size) / size;
  for (int64_t i = 1; i < n; i++) x[i] *= scale;
  x[0] = T(beta);
  return tau;
}

// c = (I - factor v v^H) c for `columns` columns of c; v[0] is taken to be one and not read.
template <class T>
void reflect_left(int64_t n, int64_t columns, T* v, T factor, T* c, int64_t ld) {
  if (factor == T(0) || columns <= 0) return;
  T kept = v[0];
  v[0] = T(1);
  dense_kernels<T>().reflect(n, columns, v, factor, c, ld);
  v[0] = kept;
}

// Matrix-vector products on several threads; see DenseKernels.
template <class T>
void dots_shared(int64_t m, int64_t n, const T* a, int64_t ld, const T* x, T* y);
template <class T>
void combine_shared(int64_t m, int64_t n, const T* a, int64_t ld, const T* x, T* y);

// c = Q c, or Q^H c if `adjoint`, for `columns` columns of m rows, where Q is the product of k reflections: the i-th
// has its vector in v[i.. m, i], with an implicit one on the diagonal, and tau[i]. Works in blocks, so that nearly all
// of it is matrix products. `skip_zeros`: c is zero to the left of its diagonal blocks, as the identity is.
struct Application {
  bool adjoint, skip_zeros;
};
template <class T>
void apply_reflections(Application how, int64_t m, int64_t columns, int64_t k, const T* v, int64_t ldv, const T* tau,
                       T* c, int64_t ldc);

}  // namespace undertow::core::cpu
