// vec_math_base.h: the bit-level building blocks of vec_math: constants per type, polynomials, powers of two.
// Knows no mathematical function. See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#define UNDERTOW_VM_INLINE static inline __attribute__((always_inline))

namespace undertow::core::vm {

template <typename T>
struct Real;

template <>
struct Real<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr float kBias = 127.0f;
  // Adding this rounds to an integer and leaves that integer in the low mantissa bits.
  static constexpr float kMagic = 0x1.8p23f;
  static constexpr float kOneExponent = 0x1p23f;  // integers OR-ed into its mantissa read as 2^23 + integer
  static constexpr Bits kSqrtHalfBits = 0x3f3504f3u;
  static constexpr Bits kOneBits = 0x3f800000u;
  static constexpr Bits kMantissaMask = 0x007fffffu;
  static constexpr Bits kSignMask = 0x80000000u;
  static constexpr float kDenormalScale = 0x1p25f;
  static constexpr float kDenormalShift = 25.0f;
  static constexpr float kLog2E = 0x1.715476p+0f;
  // The high part has trailing zeros, so n * kLn2Hi is exact for every exponent n, with or without FMA.
  static constexpr float kLn2Hi = 0x1.62ep-1f;
  static constexpr float kLn2Lo = 0x1.0bfbe8p-15f;
  static constexpr float kPiOver4 = 0x1.921fb6p-1f;
  static constexpr float kPiOver4Lo = -0x1.777a5cp-26f;
};

template <>
struct Real<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr double kBias = 1023.0;
  static constexpr double kMagic = 0x1.8p52;
  static constexpr double kOneExponent = 0x1p52;
  static constexpr Bits kSqrtHalfBits = 0x3fe6a09e667f3bcdull;
  static constexpr Bits kOneBits = 0x3ff0000000000000ull;
  static constexpr Bits kMantissaMask = 0x000fffffffffffffull;
  static constexpr Bits kSignMask = 0x8000000000000000ull;
  static constexpr double kDenormalScale = 0x1p54;
  static constexpr double kDenormalShift = 54.0;
  static constexpr double kLog2E = 0x1.71547652b82fep+0;
  static constexpr double kLn2Hi = 0x1.62e42feep-1;
  static constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;
  static constexpr double kPiOver4 = 0x1.921fb54442d18p-1;
  static constexpr double kPiOver4Lo = 0x1.1a62633145c07p-55;
};

template <typename T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();
template <typename T>
inline constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

template <typename T>
UNDERTOW_VM_INLINE typename Real<T>::Bits to_bits(T x) {
  return std::bit_cast<typename Real<T>::Bits>(x);
}

UNDERTOW_VM_INLINE float abs(float x) { return __builtin_fabsf(x); }
UNDERTOW_VM_INLINE double abs(double x) { return __builtin_fabs(x); }
UNDERTOW_VM_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
UNDERTOW_VM_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
UNDERTOW_VM_INLINE float nearest_integer(float x) { return __builtin_rintf(x); }  // of any size, ties to even
UNDERTOW_VM_INLINE double nearest_integer(double x) { return __builtin_rint(x); }
UNDERTOW_VM_INLINE float copysign(float x, float sign) { return __builtin_copysignf(x, sign); }
UNDERTOW_VM_INLINE double copysign(double x, double sign) { return __builtin_copysign(x, sign); }

template <typename T>
UNDERTOW_VM_INLINE bool sign_bit(T x) {
  return copysign(T(1), x) < T(0);
}

// Both keep a NaN in x: the comparison is false and x itself is selected.
template <typename T>
UNDERTOW_VM_INLINE T at_least(T x, T low) {
  return x < low ? low : x;
}
template <typename T>
UNDERTOW_VM_INLINE T at_most(T x, T high) {
  return x > high ? high : x;
}

// c0 + x * (c1 + x * (c2 + ...)); a parameter pack, because a loop over coefficients would prevent vectorisation.
template <typename T>
UNDERTOW_VM_INLINE T poly(T, T c0) {
  return c0;
}
template <typename T, typename... Rest>
UNDERTOW_VM_INLINE T poly(T x, T c0, Rest... rest) {
  return c0 + x * poly(x, rest...);
}

// Nearest integer, ties to even, for |x| < 2^22 (float) or 2^51 (double).
template <typename T>
UNDERTOW_VM_INLINE T round_small(T x) {
  return (x + Real<T>::kMagic) - Real<T>::kMagic;
}

// 2^n for an integral n in the normal exponent range: n + bias is in the low mantissa bits, then shifted up.
template <typename T>
UNDERTOW_VM_INLINE T pow2_of(T n) {
  return std::bit_cast<T>(to_bits(n + (Real<T>::kMagic + Real<T>::kBias)) << Real<T>::kMantissaBits);
}

// x * 2^n for an integral n in about twice the normal range, so that overflow and denormal results round once.
template <typename T>
UNDERTOW_VM_INLINE T scale_by_pow2(T x, T n) {
  const T half = round_small(n * T(0.5));
  return (x * pow2_of(half)) * pow2_of(n - half);
}

// The exact round-off of product == round(a * b), unless it underflows.
UNDERTOW_VM_INLINE double product_error(double a, double b, double product) {
#ifdef __FP_FAST_FMA
  return __builtin_fma(a, b, -product);
#else
  const double ca = a * 0x1.0000002p27, cb = b * 0x1.0000002p27;  // Dekker's split: 26 bits each half
  const double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
  return ((ah * bh - product) + ah * bl + al * bh) + al * bl;
#endif
}
UNDERTOW_VM_INLINE float product_error(float a, float b, float product) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, -product);
#else
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) - static_cast<double>(product));
#endif
}

}  // namespace undertow::core::vm
