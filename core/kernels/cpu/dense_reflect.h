// dense_reflect.h: Householder reflections, which QR, the Hermitian and the general eigenvalue problem are made of.
#pragma once
#include <cmath>

#include "core/kernels/cpu/dense.h"

namespace undertow::cpu {

template <class T>
T conj_of(T x) {
  if constexpr (std::is_floating_point_v<T>) return x;
  else return std::conj(x);
}
template <class T>
Real<T> square_of(T x) {
  if constexpr (std::is_floating_point_v<T>) return x * x;
  else return x.real() * x.real() + x.imag() * x.imag();
}
template <class T>
Real<T> imag_of(T x) {
  if constexpr (std::is_floating_point_v<T>) return 0;
  else return x.imag();
}

// The length of x, without overflow on the way.
template <class T>
Real<T> length_of(int64_t n, const T* x) {
  Real<T> most = 0, sum = 0;
  for (int64_t i = 0; i < n; i++) most = std::max({most, std::abs(std::real(x[i])), std::abs(imag_of(x[i]))});
  if (!(most > 0) || std::isinf(most)) return most;
  for (int64_t i = 0; i < n; i++) sum += square_of(x[i] / most);
  return most * std::sqrt(sum);
}

// tau and v (v[0] = 1, the rest in x[1..]) such that (I - tau v v^H)^H x = (beta, 0, ..., 0) with a real beta, which x[0]
// becomes. beta has the sign opposite to x[0]'s real part, so that nothing cancels.
template <class T>
T reflection(int64_t n, T* x) {
  using R = Real<T>;
  R rest = length_of(n - 1, x + 1);
  if (rest == 0 && imag_of(x[0]) == 0) return T(0);
  R beta = std::hypot(std::hypot(std::real(x[0]), imag_of(x[0])), rest);
  if (std::real(x[0]) >= 0) beta = -beta;
  T tau = (T(beta) - x[0]) / beta, scale = T(1) / (x[0] - beta);
  for (int64_t i = 1; i < n; i++) x[i] *= scale;
  x[0] = T(beta);
  return tau;
}

// c = (I - factor v v^H) c for `columns` columns of c; v[0] counts as one.
template <class T>
void reflect_left(int64_t n, int64_t columns, const T* v, T factor, T* c, int64_t ld) {
  if (factor == T(0)) return;
  for (int64_t j = 0; j < columns; j++) {
    T* x = c + j * ld;
    T dot = x[0];
    for (int64_t i = 1; i < n; i++) dot += conj_of(v[i]) * x[i];
    dot *= factor;
    x[0] -= dot;
    for (int64_t i = 1; i < n; i++) x[i] -= v[i] * dot;
  }
}

}  // namespace undertow::cpu
