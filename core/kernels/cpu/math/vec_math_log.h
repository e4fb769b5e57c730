// vec_math_log.h: log, log1p, log2, log10 and functions of one logarithm: the inverse hyperbolic functions,
// log_sigmoid, softplus. See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include "vec_math_base.h"
#include "vec_math_exp.h"

namespace undertow::core::vm {

// log(1 + f) = f - half_square + tail for 1 + f in [sqrt(1/2), sqrt(2)], half_square = f * f / 2.
UNDERTOW_VM_INLINE double log_tail(double f, double half_square) {
  const double s = f / (2.0 + f), z = s * s;
  const double series =
      z * poly(z, 0x1.5555555555593p-1, 0x1.999999997f827p-2, 0x1.2492494244204p-2, 0x1.c71c51c262faep-3,
               0x1.74664e31f5451p-3, 0x1.39a01ddb68842p-3, 0x1.2f1658e48b74dp-3);
  return s * (half_square + series);
}
// In float, a longer polynomial is cheaper than the division.
UNDERTOW_VM_INLINE float log_tail(float f, float half_square) {
  const float series = poly(f, 0x1.555546p-2f, -0x1.000004p-2f, 0x1.99a4fap-3f, -0x1.555d3cp-3f, 0x1.233324p-3f,
                            -0x1.fbffeep-4f, 0x1.e70c04p-4f, -0x1.df0358p-4f, 0x1.15032cp-4f);
  return (half_square + half_square) * (f * series);
}

// x = 2^k * m with m in [sqrt(1/2), sqrt(2)), for positive finite x, denormals included.
template <typename T>
struct LogParts {
  T k;
  T m;
};

template <typename T>
UNDERTOW_VM_INLINE LogParts<T> log_parts(T x) {
  using R = Real<T>;
  const bool tiny = x < std::numeric_limits<T>::min();
  const T y = tiny ? x * R::kDenormalScale : x;
  const auto shifted = to_bits(y) + (R::kOneBits - R::kSqrtHalfBits);
  const T exponent = std::bit_cast<T>((shifted >> R::kMantissaBits) | to_bits(R::kOneExponent));
  const T k = exponent - (R::kOneExponent + R::kBias);
  const T m = std::bit_cast<T>((shifted & R::kMantissaMask) + R::kSqrtHalfBits);
  return {tiny ? k - R::kDenormalShift : k, m};
}

// The value of any logarithm outside (0, inf), and `result` inside.
template <typename T>
UNDERTOW_VM_INLINE T log_edges(T x, T result) {
  const T up = x < kInf<T> ? result : x;  // inf and NaN are returned unchanged
  const T down = x < T(0) ? kNan<T> : up;
  return x == T(0) ? -kInf<T> : down;
}

template <typename T>
UNDERTOW_VM_INLINE T log_sum(T k, T f) {
  const T half_square = T(0.5) * f * f;
  const T tail = log_tail(f, half_square);
  return k * Real<T>::kLn2Hi - ((half_square - (tail + k * Real<T>::kLn2Lo)) - f);
}

template <typename T>
UNDERTOW_VM_INLINE T log(T x) {
  const auto [k, m] = log_parts(x);
  return log_edges(x, log_sum(k, m - T(1)));
}

// The round-off of 1 + x is added back to the reduced argument; if k = 0, that restores x exactly.
template <typename T>
UNDERTOW_VM_INLINE T log1p(T x) {
  constexpr T far = sizeof(T) == 4 ? T(100) : T(1000);  // the round-off no longer matters, and 2^-k must stay normal
  const T u = T(1) + x;
  const T back = u - T(1);
  const T error = (T(1) - (u - back)) + (x - back);
  const auto [k, m] = log_parts(u);
  const T f = (m - T(1)) + error * pow2_of(-at_most(k, far));
  return copysign(log_edges(u, log_sum(k, f)), x);  // log1p(-0) is -0
}

template <typename T>
struct LogBase;  // 1 / log(base) in a short and a long part, and the mask that truncates log(m) to match
template <>
struct LogBase<double> {
  static constexpr std::uint64_t kShortMask = 0xffffffff00000000ull;
  static constexpr double kTwoHi = 0x1.7154765p+0, kTwoLo = 0x1.5c17f0bbbe880p-31;
  static constexpr double kTenHi = 0x1.bcb7b15p-2, kTenLo = 0x1.37287195355bbp-33;
  static constexpr double kLog10Of2Hi = 0x1.34413508p-2, kLog10Of2Lo = 0x1.f79fef311f12bp-34;
};
template <>
struct LogBase<float> {
  static constexpr std::uint32_t kShortMask = 0xfffff000u;
  static constexpr float kTwoHi = 0x1.714p+0f, kTwoLo = 0x1.47652cp-12f;
  static constexpr float kTenHi = 0x1.bcap-2f, kTenLo = 0x1.7b1526p-14f;
  static constexpr float kLog10Of2Hi = 0x1.344p-2f, kLog10Of2Lo = 0x1.3509f8p-18f;
};

// k * unit + log(m) * inverse, with log(m) in two parts so that the scaling loses no accuracy near x = 1.
template <typename T>
UNDERTOW_VM_INLINE T log_scaled(T x, T inverse_hi, T inverse_lo, T unit_hi, T unit_lo) {
  const auto [k, m] = log_parts(x);
  const T f = m - T(1);
  const T half_square = T(0.5) * f * f;
  const T hi = std::bit_cast<T>(to_bits(f - half_square) & LogBase<T>::kShortMask);
  const T lo = ((f - hi) - half_square) + log_tail(f, half_square);
  const T main = hi * inverse_hi;  // exact
  const T whole = k * unit_hi;     // exact
  const T sum = whole + main;
  const T error = (whole - sum) + main;
  return log_edges(x, sum + (error + (lo * inverse_hi + ((lo + hi) * inverse_lo + k * unit_lo))));
}

template <typename T>
UNDERTOW_VM_INLINE T log2(T x) {
  using B = LogBase<T>;
  return log_scaled(x, B::kTwoHi, B::kTwoLo, T(1), T(0));
}

template <typename T>
UNDERTOW_VM_INLINE T log10(T x) {
  using B = LogBase<T>;
  return log_scaled(x, B::kTenHi, B::kTenLo, B::kLog10Of2Hi, B::kLog10Of2Lo);
}

// log(1 + e) for e in [0, 1]: 2 atanh(s) with s = e / (2 + e), whose series needs no argument reduction there. The
// first term is 2s = e - s e: so the error of the quotient counts only in a correction of e.
UNDERTOW_VM_INLINE double log1p_unit(double e) { return vm::log1p(e); }
UNDERTOW_VM_INLINE float log1p_unit(float e) {
  const float s = e / (2.0f + e), z = s * s;
  return e - s * (e - z * poly(z, 0x1.555556p-1f, 0x1.9998d4p-2f, 0x1.24c926p-2f, 0x1.bc8cfap-3f, 0x1.dba25ep-3f));
}

// log(1 + e^-|x|), the smooth part of softplus and log_sigmoid.
template <typename T>
UNDERTOW_VM_INLINE T log1p_exp_neg_abs(T x) {
  return log1p_unit(vm::exp(-abs(x)));
}

template <typename T>
UNDERTOW_VM_INLINE T log_sigmoid(T x) {
  return at_most(x, T(0)) - log1p_exp_neg_abs(x);
}

// log(1 + e^x), without torch's beta and threshold, which are handled by the operator.
template <typename T>
UNDERTOW_VM_INLINE T softplus(T x) {
  return at_least(x, T(0)) + log1p_exp_neg_abs(x);
}

// The float versions of the three functions below go through double: their log1p argument is a rounded expression, and
// float has no precision to spare for that within 2 ulp.

// Past this, x * x may overflow, and 1 + x is x: log(2x) = log1p(x) + log(2).
inline constexpr double kArcHyperbolicFar = 0x1p100;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;

UNDERTOW_VM_INLINE double asinh(double x) {
  const double a = abs(x);
  const bool far = a > kArcHyperbolicFar;
  const double b = far ? 1.0 : a;
  const double argument = b + b * b / (1.0 + sqrt(b * b + 1.0));
  return copysign(vm::log1p(far ? a : argument) + (far ? kLn2 : 0.0), x);
}
UNDERTOW_VM_INLINE float asinh(float x) { return static_cast<float>(vm::asinh(static_cast<double>(x))); }

UNDERTOW_VM_INLINE double acosh(double x) {
  const bool far = x > kArcHyperbolicFar;
  const double t = (far ? 2.0 : x) - 1.0;
  const double argument = t + sqrt(t + t + t * t);
  const double inside = vm::log1p(far ? x : argument) + (far ? kLn2 : 0.0);
  return x < 1.0 ? kNan<double> : inside;
}
UNDERTOW_VM_INLINE float acosh(float x) { return static_cast<float>(vm::acosh(static_cast<double>(x))); }

UNDERTOW_VM_INLINE double atanh(double x) {
  const double a = abs(x);
  const double inside = 0.5 * vm::log1p((a + a) / (1.0 - a));
  return copysign(a > 1.0 ? kNan<double> : inside, x);
}
UNDERTOW_VM_INLINE float atanh(float x) { return static_cast<float>(vm::atanh(static_cast<double>(x))); }

}  // namespace undertow::core::vm
