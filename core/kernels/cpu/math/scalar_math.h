// scalar_math.h: the functions that a table's `scalar` expression may use, for every element type.
// float and double use the vectorisable vm:: functions, integers plain arithmetic; for complex numbers
// argument-dependent lookup finds std::.
#pragma once
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "core/kernels/cpu/math/division.h"
#include "core/kernels/cpu/math/special_math.h"
#include "core/kernels/cpu/math/vec_math.h"
#include "core/tensor/dtype/dtype.h"

#ifndef UNDERTOW_ISA_NS
#define UNDERTOW_ISA_NS any_isa
#endif

namespace undertow::core::cpu::UNDERTOW_ISA_NS::scalar_math {

#define UT_REAL(f)                                                                   \
  static inline __attribute__((always_inline)) float f(float x) { return vm::f(x); } \
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
UT_REAL(erfinv)
UT_REAL(ndtr)
UT_REAL(ndtri)
UT_REAL(sigmoid)
UT_REAL(silu)
UT_REAL(log_sigmoid)
UT_REAL(rsqrt)
UT_REAL(gelu_erf)
UT_REAL(gelu_tanh)
#undef UT_REAL

#define UT_INLINE static inline __attribute__((always_inline))
UT_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
UT_INLINE double sqrt(double x) { return __builtin_sqrt(x); }

#define UT_BUILTIN1(name, builtin)                                    \
  UT_INLINE float name(float x) { return __builtin_##builtin##f(x); } \
  UT_INLINE double name(double x) { return __builtin_##builtin(x); }
UT_BUILTIN1(floor, floor)
UT_BUILTIN1(ceil, ceil)
UT_BUILTIN1(trunc, trunc)
UT_BUILTIN1(round_even, rint)
#undef UT_BUILTIN1
#define UT_BUILTIN2(name, builtin)                                                \
  UT_INLINE float name(float x, float y) { return __builtin_##builtin##f(x, y); } \
  UT_INLINE double name(double x, double y) { return __builtin_##builtin(x, y); }
UT_BUILTIN2(copysign, copysign)
UT_BUILTIN2(fmod, fmod)
#undef UT_BUILTIN2
#define UT_REAL2(f)                                           \
  UT_INLINE float f(float x, float y) { return vm::f(x, y); } \
  UT_INLINE double f(double x, double y) { return vm::f(x, y); }
UT_REAL2(atan2)
UT_REAL2(hypot)
UT_REAL2(nextafter)
#undef UT_REAL2

template <class T>
UT_INLINE auto abs(T x) {
  if constexpr (kIsComplex<T>)
    return std::abs(x);
  else if constexpr (std::is_same_v<T, float>)
    return __builtin_fabsf(x);
  else if constexpr (std::is_same_v<T, double>)
    return __builtin_fabs(x);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<T>(x < 0 ? -x : x);
  else
    return x;
}
template <class T>
UT_INLINE T conj_of(T x) {
  if constexpr (kIsComplex<T>)
    return std::conj(x);
  else
    return x;
}
template <class T>
UT_INLINE bool is_nan(T x) {
  if constexpr (kIsComplex<T>)
    return x.real() != x.real() || x.imag() != x.imag();
  else if constexpr (std::is_integral_v<T>)
    return false;
  else
    return x != x;
}
template <class T>
UT_INLINE bool is_inf(T x) {
  if constexpr (kIsComplex<T>)
    return is_inf(x.real()) || is_inf(x.imag());
  else if constexpr (std::is_integral_v<T>)
    return false;
  else
    return abs(x) == std::numeric_limits<T>::infinity();
}
template <class T>
UT_INLINE bool is_finite(T x) {
  if constexpr (kIsComplex<T>)
    return is_finite(x.real()) && is_finite(x.imag());
  else if constexpr (std::is_integral_v<T>)
    return true;
  else
    return abs(x) < std::numeric_limits<T>::infinity();
}
template <class T>
UT_INLINE bool truth(T x) {
  return x != T(0);
}
template <class T>
UT_INLINE bool sign_bit(T x) {
  // Uses an integer comparison: gcc 12 fails on the shift that __builtin_signbit becomes in a loop over bfloat16.
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<int32_t>(x) < 0;
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<int64_t>(x) < 0;
  else if constexpr (std::is_signed_v<T>)
    return x < 0;
  else
    return false;
}
template <class T>
UT_INLINE T sign(T x) {
  if constexpr (kIsComplex<T>) {
    auto a = std::abs(x);
    return a == 0 ? T(0) : T(x.real() / a, x.imag() / a);
  } else if constexpr (std::is_unsigned_v<T>) {
    return T(x != T(0));
  } else {
    return T((T(0) < x) - (x < T(0)));
  }
}

// A NaN in either operand wins in maximum and minimum, and loses in fmax and fmin. The first selection keeps a NaN in a
// and is one instruction; the second is free if b is the same for all elements.
template <class T>
UT_INLINE T maximum(T a, T b) {
  const T larger = a < b ? b : a;
  if constexpr (std::is_integral_v<T>)
    return larger;
  else
    return b != b ? b : larger;
}
template <class T>
UT_INLINE T minimum(T a, T b) {
  const T smaller = a > b ? b : a;
  if constexpr (std::is_integral_v<T>)
    return smaller;
  else
    return b != b ? b : smaller;
}
template <class T>
UT_INLINE T fmax(T a, T b) {
  return a != a ? b : (a < b) ? b : a;
}
template <class T>
UT_INLINE T fmin(T a, T b) {
  return a != a ? b : (b < a) ? b : a;
}
// A NaN bound wins, then a NaN value; the upper bound is applied last.
template <class T>
UT_INLINE T clamp(T x, T low, T high) {
  return minimum(maximum(x, low), high);
}

template <class T>
UT_INLINE T power(T x, T y) {
  if constexpr (kIsComplex<T>) {
    return std::pow(x, y);
  } else if constexpr (std::is_integral_v<T>) {
    if (y < T(0)) {
      if (x == T(1)) return T(1);
      if constexpr (std::is_signed_v<T>) {
        if (x == T(-1)) return y % 2 == 0 ? T(1) : T(-1);
      }
      return T(0);
    }
    using U = std::make_unsigned_t<T>;  // multiplication wraps
    U result = 1, base = static_cast<U>(x);
    for (U n = static_cast<U>(y); n; n >>= 1) {
      if (n & 1) result = static_cast<U>(result * base);
      base = static_cast<U>(base * base);
    }
    return static_cast<T>(result);
  } else {
    return vm::pow(x, y);
  }
}
template <class T>
static inline void apply_power(const T* x, const T* y, T* out, size_t n) {
  if constexpr (std::is_integral_v<T>)
    for (size_t i = 0; i < n; i++) out[i] = power(x[i], y[i]);
  else
    vm::apply_pow(x, y, out, n);
}
template <class T>
UT_INLINE T cube(T x) {
  return x * x * x;
}

// Shifts by at least the width, or by a negative number, give zeros (or the sign); the masks avoid undefined behaviour
// in C++.
template <class T>
UT_INLINE T shift_left(T x, T by) {
  constexpr int bits = sizeof(T) * 8;
  const T moved = static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << (by & T(bits - 1)));
  return by < T(0) || by >= T(bits) ? T(0) : moved;
}
template <class T>
UT_INLINE T shift_right(T x, T by) {
  constexpr int bits = sizeof(T) * 8;
  constexpr T most = T(bits - std::is_signed_v<T>);
  const T moved = static_cast<T>(x >> (by & T(bits - 1))), far = static_cast<T>(std::is_signed_v<T> ? x >> most : 0);
  return by < T(0) || by >= most ? far : moved;
}
template <class T>
inline T gcd(T a, T b) {
  using U = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  U x = a < T(0) ? -static_cast<U>(a) : static_cast<U>(a), y = b < T(0) ? -static_cast<U>(b) : static_cast<U>(b);
  while (y != 0) {
    if (y == U(-1)) return T(1);
    U r = x % y;
    x = y;
    y = r;
  }
  return static_cast<T>(x < 0 ? -x : x);
}
template <class T>
inline T lcm(T a, T b) {
  T g = gcd(a, b);
  return g == T(0) ? T(0) : abs(static_cast<T>(trunc_divide(a, g) * b));
}

// Complex versions of functions that std:: has only for real numbers.
template <class R>
inline std::complex<R> exp2(const std::complex<R>& z) {
  return std::exp(z * R(0.6931471805599453094));
}
template <class R>
inline std::complex<R> log2(const std::complex<R>& z) {
  return std::log(z) * R(1.4426950408889634074);
}
template <class R>
inline std::complex<R> expm1(const std::complex<R>& z) {
  R x = z.real(), y = z.imag(), half = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half * half, std::exp(x) * std::sin(y)};
}
template <class R>
inline std::complex<R> log1p(const std::complex<R>& z) {
  R x = z.real(), y = z.imag(), theta = std::atan2(y, x + 1);
  if (std::abs(z) >= R(0.5)) return {std::log(std::hypot(x + 1, y)), theta};
  R r = x * (2 + x) + y * y;
  return {r == 0 ? x : R(0.5) * std::log1p(r), theta};
}

// Logarithms of sums without overflow.
template <class T>
UT_INLINE T logaddexp(T a, T b) {
  if constexpr (kIsComplex<T>) {
    const T &low = a.real() < b.real() ? a : b, &high = a.real() < b.real() ? b : a;
    if (is_nan(a) || is_nan(b))
      return T(std::numeric_limits<typename T::value_type>::quiet_NaN(),
               std::numeric_limits<typename T::value_type>::quiet_NaN());
    if (!is_finite(low.real()) && low.real() == high.real())
      return low.real() < 0 ? low : std::log(std::exp(low) + std::exp(high));
    return log1p(std::exp(low - high)) + high;
  } else {
    const T high = maximum(a, b), gap = abs(a - b);
    return a == b && is_inf(a) ? a : high + log1p(exp(-gap));
  }
}
template <class T>
UT_INLINE T logaddexp2(T a, T b) {
  if constexpr (kIsComplex<T>) {
    using R = typename T::value_type;
    constexpr R ln2 = R(0.6931471805599453094);
    return logaddexp(a * ln2, b * ln2) / ln2;
  } else {
    const T high = maximum(a, b), gap = abs(a - b);
    return a == b && is_inf(a) ? a : high + log1p(exp2(-gap)) * T(1.4426950408889634074);
  }
}
template <class T>
UT_INLINE T xlogy(T x, T y) {
  return y != y ? y : x == T(0) ? T(0) : x * log(y);
}
template <class T>
UT_INLINE T xlog1py(T x, T y) {
  return y != y ? y : x == T(0) ? T(0) : x * log1p(y);
}
// eps is NaN if not given.
template <class T>
UT_INLINE T logit(T x, T eps) {
  const T z = eps != eps ? x : x < eps ? eps : x > T(1) - eps ? T(1) - eps : x;
  return log(z / (T(1) - z));
}
template <class T>
UT_INLINE T logit_derivative(T grad, T x, T eps) {
  const T inside = grad / (x * (T(1) - x));
  if (eps != eps) return x < T(0) || x > T(1) ? std::numeric_limits<T>::quiet_NaN() : inside;
  return x < eps || x > T(1) - eps ? T(0) : inside;
}
template <class T>
UT_INLINE T lerp(T a, T b, T weight) {
  // Selected before the product: a selection between two results does not vectorise.
  const bool near = abs(weight) < decltype(abs(weight))(0.5);
  return (near ? a : b) + (near ? weight : weight - T(1)) * (b - a);
}
template <class T>
UT_INLINE T round_decimals(T x, int64_t decimals) {
  T scale = T(__builtin_pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals)));
  return decimals < 0 ? round_even(x / scale) * scale : round_even(x * scale) / scale;
}
template <class T>
UT_INLINE T nan_to_num(T x, double nan, double high, double low) {
  if constexpr (kIsComplex<T>) {
    return T(nan_to_num(x.real(), nan, high, low), nan_to_num(x.imag(), nan, high, low));
  } else {
    constexpr T inf = std::numeric_limits<T>::infinity();
    return x != x ? T(nan) : x == inf ? T(high) : x == -inf ? T(low) : x;
  }
}
template <class T>
UT_INLINE auto angle(T x) {
  if constexpr (kIsComplex<T>)
    return std::arg(x);
  else if constexpr (std::is_integral_v<T>)
    return x < T(0);
  else
    return x != x ? x : x < T(0) ? T(3.14159265358979323846) : T(0);
}
// With beta and threshold: the identity above the threshold.
template <class T>
UT_INLINE T softplus(T x, T beta, T threshold) {
  return x * beta > threshold ? x : vm::softplus(x * beta) * (T(1) / beta);
}
template <class T>
UT_INLINE T softplus_derivative(T x, T beta, T threshold) {
  return x * beta > threshold ? T(1) : vm::sigmoid(x * beta);
}
template <class T>
UT_INLINE T mish(T x) {
  return x * vm::tanh(vm::softplus(x));
}
template <class T>
UT_INLINE T mish_derivative(T x) {
  const T t = vm::tanh(vm::softplus(x));
  return t + x * vm::sigmoid(x) * (T(1) - t * t);
}
template <class T>
UT_INLINE T gelu_erf_derivative(T x) {
  const T density = T(0.39894228040143267794) * vm::exp(T(-0.5) * x * x);
  return vm::normal_cdf(x) + x * density;
}
template <class T>
UT_INLINE T gelu_tanh_derivative(T x) {
  constexpr T beta = T(0.79788456080286535588), kappa = T(0.044715);
  const T t = vm::tanh(beta * (x + kappa * x * x * x));
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * beta * (T(1) + T(3) * kappa * x * x);
}
template <class T>
UT_INLINE T elu(T x, T alpha, T scale, T input_scale) {
  return x < T(0) ? expm1(x * input_scale) * (alpha * scale) : x * scale;
}

// Complex division without intermediate overflow (Smith's scaling); the compiler's own arithmetic uses the plain
// formula.
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
template <class R>
inline std::complex<R> sigmoid(const std::complex<R>& z) {
  return divide(std::complex<R>(1), std::complex<R>(1) + std::exp(-z));
}
template <class R>
inline std::complex<R> silu(const std::complex<R>& z) {
  return z * sigmoid(z);
}
template <class R>
inline std::complex<R> rsqrt(const std::complex<R>& z) {
  return divide(std::complex<R>(1), std::sqrt(z));
}
template <class T>
UT_INLINE T sinc(const T& x) {
  if constexpr (kIsComplex<T>) {
    const T angle = x * typename T::value_type(3.14159265358979323846);
    return x == T(0) ? T(1) : divide(std::sin(angle), angle);
  } else {
    return vm::sinc(x);
  }
}
template <class T>
static inline void apply_entr(const T* x, T* out, size_t n) {
#pragma GCC ivdep
  for (size_t i = 0; i < n; i++) {
    const T v = x[i], edge = v < T(0) ? -std::numeric_limits<T>::infinity() : abs(v);  // 0, or NaN
    out[i] = v > T(0) ? -v * log(v) : edge;
  }
}
template <class T>
UT_INLINE T select(bool c, T a, T b) {
  return c ? a : b;
}
#undef UT_INLINE

}  // namespace undertow::core::cpu::UNDERTOW_ISA_NS::scalar_math
