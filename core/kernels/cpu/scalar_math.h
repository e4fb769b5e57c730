// scalar_math.h: the names a table's `scalar` expression may use, for every element type.
// float and double go to the vectorisable vm:: functions, integers to plain arithmetic; for complex numbers the call finds
// std:: by its argument.
#pragma once
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "core/kernels/cpu/special_math.h"
#include "core/kernels/cpu/vec_math.h"
#include "core/tensor/dtype.h"

#ifndef UNDERTOW_ISA_NS
#define UNDERTOW_ISA_NS any_isa
#endif

namespace undertow::cpu::UNDERTOW_ISA_NS::scalar_math {

#define UT_REAL(f)                                                                              \
  static inline __attribute__((always_inline)) float f(float x) { return vm::f(x); }            \
  static inline __attribute__((always_inline)) double f(double x) { return vm::f(x); }
UT_REAL(exp)
UT_REAL(log)
UT_REAL(log10)
UT_REAL(sin)
UT_REAL(cos)
UT_REAL(tan)
UT_REAL(sinh)
UT_REAL(cosh)
UT_REAL(tanh)
UT_REAL(asin)
UT_REAL(acos)
UT_REAL(atan)
UT_REAL(asinh)
UT_REAL(acosh)
UT_REAL(atanh)
UT_REAL(exp2)
UT_REAL(expm1)
UT_REAL(log1p)
UT_REAL(log2)
UT_REAL(erf)
UT_REAL(erfc)
UT_REAL(sigmoid)
UT_REAL(log_sigmoid)
UT_REAL(rsqrt)
UT_REAL(gelu_erf)
UT_REAL(gelu_tanh)
#undef UT_REAL

static inline __attribute__((always_inline)) float sqrt(float x) { return __builtin_sqrtf(x); }
static inline __attribute__((always_inline)) double sqrt(double x) { return __builtin_sqrt(x); }
template <class T>
static inline __attribute__((always_inline)) bool is_nan(T x) {
  if constexpr (kIsComplex<T>) return x.real() != x.real() || x.imag() != x.imag();
  else if constexpr (std::is_integral_v<T>) return false;
  else return x != x;
}
// Complex division that does not overflow midway (Smith's scaling); compiled arithmetic is the plain formula.
template <class T>
inline std::complex<T> divide(const std::complex<T>& a, const std::complex<T>& b) {
  T c = b.real(), d = b.imag();
  if ((c < 0 ? -c : c) >= (d < 0 ? -d : d)) {
    if (c == 0 && d == 0) return {a.real() / c, a.imag() / c};
    T r = d / c, s = 1 / (c + d * r);
    return {(a.real() + a.imag() * r) * s, (a.imag() - a.real() * r) * s};
  }
  T r = c / d, s = 1 / (d + c * r);
  return {(a.real() * r + a.imag()) * s, (a.imag() * r - a.real()) * s};
}
template <class T>
static inline __attribute__((always_inline)) T select(bool c, T a, T b) { return c ? a : b; }

}  // namespace undertow::cpu::UNDERTOW_ISA_NS::scalar_math
