// scalar_math.cuh: the functions that a table's `scalar` expression may use, for every element type: the device's side
// of core/kernels/cpu/math/scalar_math.h. Half dtypes are computed in float. complex_math.cuh has those of complex
// numbers, special_math.cuh those of namespace special.
#pragma once
#include "device/complex.cuh"

namespace undertow::scalar_math {

// CUDA's own functions, under one name for float and double.
#define UT_REAL1(name)                                   \
  UT_DEVICE float name(float x) { return ::name##f(x); } \
  UT_DEVICE double name(double x) { return ::name(x); }
#define UT_REAL2(name)                                               \
  UT_DEVICE float name(float x, float y) { return ::name##f(x, y); } \
  UT_DEVICE double name(double x, double y) { return ::name(x, y); }
UT_REAL1(exp)
UT_REAL1(log)
UT_REAL1(log10)
UT_REAL1(sin)
UT_REAL1(cos)
UT_REAL1(tan)
UT_REAL1(sinh)
UT_REAL1(cosh)
UT_REAL1(tanh)
UT_REAL1(asin)
UT_REAL1(acos)
UT_REAL1(atan)
UT_REAL1(asinh)
UT_REAL1(acosh)
UT_REAL1(atanh)
UT_REAL1(exp2)
UT_REAL1(expm1)
UT_REAL1(log1p)
UT_REAL1(log2)
UT_REAL1(erf)
UT_REAL1(erfc)
UT_REAL1(erfinv)
UT_REAL1(sqrt)
UT_REAL1(rsqrt)
UT_REAL1(floor)
UT_REAL1(ceil)
UT_REAL1(trunc)
UT_REAL2(copysign)
UT_REAL2(fmod)
UT_REAL2(atan2)
UT_REAL2(hypot)
UT_REAL2(nextafter)
#undef UT_REAL1
#undef UT_REAL2
UT_DEVICE float round_even(float x) { return ::rintf(x); }
UT_DEVICE double round_even(double x) { return ::rint(x); }
UT_DEVICE float pow_of(float x, float y) { return ::powf(x, y); }
UT_DEVICE double pow_of(double x, double y) { return ::pow(x, y); }
UT_DEVICE float ndtr(float x) { return ::normcdff(x); }
UT_DEVICE double ndtr(double x) { return ::normcdf(x); }
UT_DEVICE float ndtri(float x) { return ::normcdfinvf(x); }
UT_DEVICE double ndtri(double x) { return ::normcdfinv(x); }

template <class T>
inline constexpr bool kIsSigned = T(-1) < T(0);
template <class T>
inline constexpr bool kIsSigned<Complex<T>> = true;
template <class T>
using Unsigned = Conditional<sizeof(T) == 1, uint8_t,
                             Conditional<sizeof(T) == 2, uint16_t, Conditional<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <class T>
UT_DEVICE bool is_negative(T x) {
  if constexpr (kIsSigned<T>)
    return x < T(0);
  else
    return false;
}
template <class T>
UT_DEVICE auto abs(T x) {
  if constexpr (kIsComplex<T>)
    return hypot(x.re, x.im);
  else if constexpr (kSame<T, float>)
    return ::fabsf(x);
  else if constexpr (kSame<T, double>)
    return ::fabs(x);
  else if constexpr (kIsSigned<T>)
    return static_cast<T>(x < 0 ? -x : x);
  else
    return x;
}
template <class T>
UT_DEVICE T conj_of(T x) {
  if constexpr (kIsComplex<T>)
    return conj(x);
  else
    return x;
}
template <class T>
UT_DEVICE bool is_nan(T x) {
  if constexpr (kIsComplex<T>)
    return x.re != x.re || x.im != x.im;
  else if constexpr (kIsIntegral<T>)
    return false;
  else
    return x != x;
}
template <class T>
UT_DEVICE bool is_inf(T x) {
  if constexpr (kIsComplex<T>)
    return is_inf(x.re) || is_inf(x.im);
  else if constexpr (kIsIntegral<T>)
    return false;
  else
    return abs(x) == Limits<T>::infinity();
}
template <class T>
UT_DEVICE bool is_finite(T x) {
  if constexpr (kIsComplex<T>)
    return is_finite(x.re) && is_finite(x.im);
  else if constexpr (kIsIntegral<T>)
    return true;
  else
    return abs(x) < Limits<T>::infinity();
}
template <class T>
UT_DEVICE bool truth(T x) {
  return x != T(0);
}
template <class T>
UT_DEVICE bool sign_bit(T x) {
  if constexpr (kSame<T, float>)
    return __float_as_int(x) < 0;
  else if constexpr (kSame<T, double>)
    return __double_as_longlong(x) < 0;
  else if constexpr (kIsSigned<T>)
    return x < 0;
  else
    return false;
}
template <class T>
UT_DEVICE T sign(T x) {
  if constexpr (kIsComplex<T>) {
    auto a = abs(x);
    return a == 0 ? T(0) : T(x.re / a, x.im / a);
  } else if constexpr (!kIsSigned<T>) {
    return T(x != T(0));
  } else {
    return T((T(0) < x) - (x < T(0)));
  }
}

// A NaN in either operand wins in maximum and minimum, and loses in fmax and fmin.
template <class T>
UT_DEVICE T maximum(T a, T b) {
  const T larger = a < b ? b : a;
  if constexpr (kIsIntegral<T>)
    return larger;
  else
    return b != b ? b : larger;
}
template <class T>
UT_DEVICE T minimum(T a, T b) {
  const T smaller = a > b ? b : a;
  if constexpr (kIsIntegral<T>)
    return smaller;
  else
    return b != b ? b : smaller;
}
template <class T>
UT_DEVICE T fmax(T a, T b) {
  return a != a ? b : (a < b) ? b : a;
}
template <class T>
UT_DEVICE T fmin(T a, T b) {
  return a != a ? b : (b < a) ? b : a;
}
// A NaN bound wins, then a NaN value; the upper bound is applied last.
template <class T>
UT_DEVICE T clamp(T x, T low, T high) {
  return minimum(maximum(x, low), high);
}

// Integers divided by zero give zero: raising an error for one element would cost a check at the next synchronization
// of every division.
template <class T>
UT_DEVICE T trunc_divide(T a, T b) {
  if constexpr (kIsIntegral<T>) {
    if (b == T(0)) return T(0);
    if constexpr (kIsSigned<T>) {
      if (b == T(-1)) return static_cast<T>(-a);
    }
    return static_cast<T>(a / b);
  } else {
    return trunc(a / b);
  }
}
template <class T>
UT_DEVICE T fmod_of(T a, T b) {
  if constexpr (kIsIntegral<T>) {
    if (b == T(0)) return T(0);
    if constexpr (kIsSigned<T>) {
      if (b == T(-1)) return T(0);
    }
    return static_cast<T>(a % b);
  } else {
    return fmod(a, b);
  }
}
template <class T>
UT_DEVICE T remainder_of(T a, T b) {
  T r = fmod_of(a, b);
  const bool signs_differ = (r != T(0)) & (is_negative(b) != is_negative(r));
  return static_cast<T>(r + (signs_differ ? b : T(0)));
}
// Python's floor division: the quotient that leaves a remainder with the divisor's sign, and is exactly an integer.
template <class T>
UT_DEVICE T floor_divide(T a, T b) {
  if constexpr (kIsIntegral<T>) {
    T q = trunc_divide(a, b);
    if constexpr (kIsSigned<T>) {
      T rest = static_cast<T>(a - q * b);
      return b == T(0) ? q : static_cast<T>(q - T((rest != T(0)) & ((rest < T(0)) != (b < T(0)))));
    }
    return q;
  } else {
    if (b == T(0)) return a / b;
    const T r = fmod(a, b);
    const bool signs_differ = (r != T(0)) & ((b < T(0)) != (r < T(0)));
    const T q = (a - r) / b - (signs_differ ? T(1) : T(0)), whole = floor(q);
    return q == T(0) ? copysign(T(0), a / b) : q - whole > T(0.5) ? whole + T(1) : whole;
  }
}

template <class R>
UT_DEVICE Complex<R> pow_of(Complex<R> x, Complex<R> y);
template <class T>
UT_DEVICE T power(T x, T y) {
  if constexpr (kIsIntegral<T>) {
    if (is_negative(y)) {
      if (x == T(1)) return T(1);
      if constexpr (kIsSigned<T>) {
        if (x == T(-1)) return y % 2 == 0 ? T(1) : T(-1);
      }
      return T(0);
    }
    using U = Unsigned<T>;  // multiplication wraps
    U result = 1, base = static_cast<U>(x);
    for (U n = static_cast<U>(y); n; n >>= 1) {
      if (n & 1) result = static_cast<U>(result * base);
      base = static_cast<U>(base * base);
    }
    return static_cast<T>(result);
  } else {
    return pow_of(x, y);
  }
}
template <class T>
UT_DEVICE T cube(T x) {
  return x * x * x;
}

// Shifts by at least the width, or by a negative number, give zeros (or the sign).
template <class T>
UT_DEVICE T shift_left(T x, T by) {
  constexpr int bits = sizeof(T) * 8;
  const T moved = static_cast<T>(static_cast<Unsigned<T>>(x) << (by & T(bits - 1)));
  return is_negative(by) || by >= T(bits) ? T(0) : moved;
}
template <class T>
UT_DEVICE T shift_right(T x, T by) {
  constexpr int bits = sizeof(T) * 8;
  constexpr T most = T(bits - kIsSigned<T>);
  const T moved = static_cast<T>(x >> (by & T(bits - 1))), far = static_cast<T>(kIsSigned<T> ? x >> most : 0);
  return is_negative(by) || by >= most ? far : moved;
}
template <class T>
__device__ __noinline__ T gcd(T a, T b) {
  uint64_t x = is_negative(a) ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = is_negative(b) ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y != 0) {
    uint64_t r = x % y;
    x = y;
    y = r;
  }
  return static_cast<T>(x);
}
template <class T>
UT_DEVICE T lcm(T a, T b) {
  T g = gcd(a, b);
  return g == T(0) ? T(0) : abs(static_cast<T>(trunc_divide(a, g) * b));
}

template <class T>
UT_DEVICE T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}
template <class T>
UT_DEVICE T silu(T x) {
  return x / (T(1) + exp(-x));
}
// log(1 + e^x) without overflow.
template <class T>
UT_DEVICE T log_one_plus_exp(T x) {
  return maximum(x, T(0)) + log1p(exp(-abs(x)));
}
template <class T>
UT_DEVICE T log_sigmoid(T x) {
  return -log_one_plus_exp(-x);
}
template <class T>
UT_DEVICE T normal_cdf(T x) {  // with absolute accuracy in the left tail, like torch's gelu formula
  return T(0.5) * (T(1) + erf(x * T(0.70710678118654752440)));
}
template <class T>
UT_DEVICE T gelu_erf(T x) {
  return x * normal_cdf(x);
}
template <class T>
UT_DEVICE T gelu_tanh(T x) {
  const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
  return (T(0.5) * x) * (T(1) + tanh(inner));
}
template <class T>
UT_DEVICE T gelu_erf_derivative(T x) {
  return normal_cdf(x) + x * (T(0.39894228040143267794) * exp(T(-0.5) * x * x));
}
template <class T>
UT_DEVICE T gelu_tanh_derivative(T x) {
  constexpr T beta = T(0.79788456080286535588), kappa = T(0.044715);
  const T t = tanh(beta * (x + kappa * x * x * x));
  return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * beta * (T(1) + T(3) * kappa * x * x);
}
// With beta and threshold: the identity above the threshold.
template <class T>
UT_DEVICE T softplus(T x, T beta, T threshold) {
  return x * beta > threshold ? x : log_one_plus_exp(x * beta) * (T(1) / beta);
}
template <class T>
UT_DEVICE T softplus_derivative(T x, T beta, T threshold) {
  return x * beta > threshold ? T(1) : sigmoid(x * beta);
}
template <class T>
UT_DEVICE T mish(T x) {
  return x * tanh(log_one_plus_exp(x));
}
template <class T>
UT_DEVICE T mish_derivative(T x) {
  const T t = tanh(log_one_plus_exp(x));
  return t + x * sigmoid(x) * (T(1) - t * t);
}
template <class T>
UT_DEVICE T elu(T x, T alpha, T scale, T input_scale) {
  return x < T(0) ? expm1(x * input_scale) * (alpha * scale) : x * scale;
}

// Logarithms of sums without overflow; complex_math.cuh has the complex ones.
template <class T>
UT_DEVICE T logaddexp(T a, T b) {
  const T high = maximum(a, b), gap = abs(a - b);
  return a == b && is_inf(a) ? a : high + log1p(exp(-gap));
}
template <class T>
UT_DEVICE T logaddexp2(T a, T b) {
  const T high = maximum(a, b), gap = abs(a - b);
  return a == b && is_inf(a) ? a : high + log1p(exp2(-gap)) * T(1.4426950408889634074);
}
template <class T>
UT_DEVICE T xlogy(T x, T y) {
  return y != y ? y : x == T(0) ? T(0) : x * log(y);
}
template <class T>
UT_DEVICE T xlog1py(T x, T y) {
  return y != y ? y : x == T(0) ? T(0) : x * log1p(y);
}
// eps is NaN if not given.
template <class T>
UT_DEVICE T logit(T x, T eps) {
  const T z = eps != eps ? x : x < eps ? eps : x > T(1) - eps ? T(1) - eps : x;
  return log(z / (T(1) - z));
}
template <class T>
UT_DEVICE T logit_derivative(T grad, T x, T eps) {
  const T inside = grad / (x * (T(1) - x));
  if (eps != eps) return x < T(0) || x > T(1) ? Limits<T>::nan() : inside;
  return x < eps || x > T(1) - eps ? T(0) : inside;
}
template <class T>
UT_DEVICE T lerp(T a, T b, T weight) {
  const bool near = abs(weight) < decltype(abs(weight))(0.5);
  return (near ? a : b) + (near ? weight : weight - T(1)) * (b - a);
}
template <class T>
UT_DEVICE T round_decimals(T x, int64_t decimals) {
  T scale = T(::pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals)));
  return decimals < 0 ? round_even(x / scale) * scale : round_even(x * scale) / scale;
}
template <class T>
UT_DEVICE T nan_to_num(T x, double nan, double high, double low) {
  if constexpr (kIsComplex<T>)
    return T(nan_to_num(x.re, nan, high, low), nan_to_num(x.im, nan, high, low));
  else
    return x != x ? T(nan) : x == Limits<T>::infinity() ? T(high) : x == -Limits<T>::infinity() ? T(low) : x;
}
template <class T>
UT_DEVICE auto angle(T x) {
  if constexpr (kIsComplex<T>)
    return atan2(x.im, x.re);
  else if constexpr (kIsIntegral<T>)
    return x < T(0);
  else
    return x != x ? x : x < T(0) ? T(3.14159265358979323846) : T(0);
}
template <class T>
UT_DEVICE Complex<T> divide(Complex<T> a, Complex<T> b) {
  return a / b;
}
template <class T>
UT_DEVICE T sinc(T x) {
  const double angle = 3.14159265358979323846 * static_cast<double>(x);
  return x == T(0) ? T(1) : static_cast<T>(::sin(angle) / angle);
}
template <class T>
UT_DEVICE T select(bool c, T a, T b) {
  return c ? a : b;
}

}  // namespace undertow::scalar_math
