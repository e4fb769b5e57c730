// linalg_common.cuh: what the kernels for matrices share: sizes of pivots, conjugates, substitution.
#pragma once
#include "device/complex.cuh"
// After prelude.cuh, which defines int64_t.
#include "linalg/linalg_params.h"

namespace undertow {

template <class T>
UT_DEVICE RealOf<T> real_part(T x) {
  if constexpr (kIsComplex<T>)
    return x.re;
  else
    return x;
}
template <class T>
UT_DEVICE T conjugate(T x) {
  if constexpr (kIsComplex<T>)
    return conj(x);
  else
    return x;
}
// LAPACK's criterion for pivots.
template <class T>
UT_DEVICE RealOf<T> pivot_size(T x) {
  if constexpr (kIsComplex<T>)
    return fabs(x.re) + fabs(x.im);
  else
    return fabs(x);
}
template <class T>
UT_DEVICE RealOf<T> absolute(T x) {
  if constexpr (kIsComplex<T>)
    return hypot(x.re, x.im);
  else
    return fabs(x);
}
// NaN is larger than any number.
template <class R>
UT_DEVICE bool is_larger(R a, R b) {
  return a > b || (a != a && b == b);
}

// Solves a triangular system for `count` columns; all threads of the block take part.
template <class T>
UT_DEVICE void substitute(Triangle how, const T* a, DenseStrides a_at, T* x, DenseStrides x_at, int64_t n,
                          int64_t count) {
  for (int64_t step = 0; step < n; step++) {
    int64_t i = how.upper ? n - 1 - step : step, first = how.upper ? 0 : i + 1, height = how.upper ? i : n - 1 - i;
    if (!how.unit) {
      if (threadIdx.x < count) {
        T& v = x[i * x_at.row + threadIdx.x * x_at.column];
        v = v / a[i * (a_at.row + a_at.column)];
      }
      __syncthreads();
    }
    for (int64_t e = threadIdx.x; e < height * count; e += kLinalgThreads) {
      int64_t r = first + e % height, c = e / height;
      x[r * x_at.row + c * x_at.column] -= a[r * a_at.row + i * a_at.column] * x[i * x_at.row + c * x_at.column];
    }
    __syncthreads();
  }
}

}  // namespace undertow
