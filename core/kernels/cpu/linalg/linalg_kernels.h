// linalg_kernels.h: the inner loops of dense factorizations, compiled once per instruction set: matrix-vector products,
// and the sums of a secular equation. Knows columns; neither threads nor algorithms.
#pragma once

#include <complex>
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

inline constexpr int64_t kSubstituted = 32;

// T is float, double or std::complex of both. Matrices are column-major.
template <class T>
struct DenseKernels {
  // y[j] = sum over i of conj(a[i, j]) x[i].
  void (*dots)(int64_t m, int64_t n, const T* a, int64_t ld, const T* x, T* y);
  // y[i] += sum over j of a[i, j] x[j].
  void (*combine)(int64_t m, int64_t n, const T* a, int64_t ld, const T* x, T* y);
  // The contribution of columns first to last, and of their mirror images, to y += A x for a Hermitian A of size n.
  // Only the lower triangle is read.
  void (*hermitian)(int64_t n, int64_t first, int64_t last, const T* a, int64_t ld, const T* x, T* y);
  // c = (I - factor v v^H) c for `columns` columns of c.
  void (*reflect)(int64_t n, int64_t columns, const T* v, T factor, T* c, int64_t ld);
  // b = a^-1 b for a triangular a of size n <= kSubstituted; both have any strides. unit: its diagonal is taken to be
  // ones.
  void (*substitute)(bool upper, bool unit, int64_t n, int64_t columns, const T* a, int64_t a_rs, int64_t a_cs, T* b,
                     int64_t b_rs, int64_t b_cs);
  // Rotates columns x and y: x' = c x - s y, y' = s x + c y.
  void (*rotate)(int64_t n, T* x, T* y, double c, double s);
  // The same with a complex s: x' = c x + conj(s) y, y' = c y - s x.
  void (*rotate_complex)(int64_t n, T* x, T* y, T c, T s);
};

// Sums over poles of z / gap and z / gap^2, where gap is `near - at`, or (near - at) * (far + at) unless far is null.
struct SecularSums {
  double value, slope;
};
struct SecularKernels {
  SecularSums (*sums)(int64_t n, const double* near, const double* far, double at, const double* z);
  // near = poles - origin and far = poles + origin; gaps computes the gaps defined above.
  void (*around)(int64_t n, const double* poles, double origin, double* near, double* far);
  void (*gaps)(int64_t n, const double* near, const double* far, double at, double* out);
  // gap[i] = z[i] / gap[i]; returns the sum of their squares, and the sum of the squares of poles[i] times them.
  SecularSums (*vector)(int64_t n, const double* z, const double* poles, double* gap);
  // product[i] *= gap[i] / (poles[i] - pole), or / ((poles[i] - pole) * (poles[i] + pole)) if `squares`.
  void (*ratios)(int64_t n, const double* gap, const double* poles, double pole, bool squares, double* product);
};

UNDERTOW_FOR_EACH_ISA(template <class T> const DenseKernels<T>& dense_kernels();
                      const SecularKernels& secular_kernels();)

template <class T>
const DenseKernels<T>& dense_kernels() {
  static const DenseKernels<T>& chosen = UNDERTOW_CHOOSE_ISA(dense_kernels<T>());
  return chosen;
}
inline const SecularKernels& secular_kernels() {
  static const SecularKernels& chosen = UNDERTOW_CHOOSE_ISA(secular_kernels());
  return chosen;
}

}  // namespace undertow::core::cpu
