// vec_math_pow.h: pow, rsqrt, hypot and nextafter.
// See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include "vec_math_base.h"
#include "vec_math_log.h"

namespace undertow::core::vm {

template <typename T>
UNDERTOW_VM_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}

// sqrt(x * x + y * y) without overflow or underflow on the way: infinite if one side is, even beside a NaN.
UNDERTOW_VM_INLINE float hypot(float x, float y) {
  const double a = static_cast<double>(x), b = static_cast<double>(y);
  const float root = static_cast<float>(sqrt(a * a + b * b));
  return abs(x) == kInf<float> ? abs(x) : abs(y) == kInf<float> ? abs(y) : root;
}
UNDERTOW_VM_INLINE double hypot(double x, double y) {
  const double a = abs(x), b = abs(y), larger = a > b ? a : b;
  const double scale = larger > 0x1p500 ? 0x1p-600 : larger < 0x1p-400 ? 0x1p600 : 1.0;
  const double back = larger > 0x1p500 ? 0x1p600 : larger < 0x1p-400 ? 0x1p-600 : 1.0;
  const double u = a * scale, v = b * scale;
  const double root = sqrt(u * u + v * v) * back;
  return a == kInf<double> ? a : b == kInf<double> ? b : root;
}

// The representable number after x in the direction of y. Numbers of one sign are ordered like their bits.
template <typename T>
UNDERTOW_VM_INLINE T nextafter(T x, T y) {
  using Bits = typename Real<T>::Bits;
  const bool away = (x < y) == (x > T(0));  // from zero
  const T neighbour = std::bit_cast<T>(to_bits(x) + (away ? Bits{1} : ~Bits{0}));
  const T from_zero = copysign(std::numeric_limits<T>::denorm_min(), y);
  const T moved = x == T(0) ? from_zero : neighbour;
  const T numbers = x == y ? y : moved;
  return x == x ? (y == y ? numbers : y) : x;
}

// Logarithm and power of two in double, accurate to the 2^-30 that y * log2(x) <= 150 needs for a float result.
UNDERTOW_VM_INLINE double pow_log2_short(double x) {
  const auto [k, m] = log_parts(x);
  const double f = m - 1.0, s = f / (2.0 + f), z = s * s;
  const double series =
      z * poly(z, 0x1.555554fca516dp-1, 0x1.999a7c2f039f4p-2, 0x1.24386f34bf7ebp-2, 0x1.e3062b157f7d9p-3);
  return k + Real<double>::kLog2E * (s * (2.0 + series));
}
UNDERTOW_VM_INLINE double pow_exp2_short(double y) {
  const double n = round_small(y), r = y - n;
  const double p = poly(r, 1.0, 0x1.62e430d2000adp-1, 0x1.ebfbe07ef5f22p-3, 0x1.c6aec987be3c3p-5, 0x1.3b29ed7ffb5d9p-7,
                        0x1.5f4a49bce5aa5p-10, 0x1.44610cf69d409p-13);
  return p * pow2_of(n);
}

// Handles all special cases of C's pow; overflow and denormals are handled by the conversion to float.
UNDERTOW_VM_INLINE float pow(float base, float exponent) {
  const double x = base, y = exponent, a = abs(x);
  const double edge = a == 0.0 ? -kInf<double> : a;  // log2 at 0, inf and NaN
  const double logarithm = a > 0.0 && a < kInf<double> ? pow_log2_short(a) : edge;
  const double product = at_most(at_least(y * logarithm, -300.0), 300.0);
  const double one_cases = y == 0.0 || a == 1.0 ? 1.0 : pow_exp2_short(product);
  const double magnitude = a == 1.0 && y != y && x != 1.0 ? y : one_cases;

  // Floats from 2^24 on are even integers, and infinities count as even.
  const double whole = abs(y) < 0x1p25 ? y : 0.0;
  const bool integral = round_small(whole) == whole;
  const bool odd = integral && round_small(0.5 * whole) != 0.5 * whole;
  const double signed_result = odd && sign_bit(x) ? -magnitude : magnitude;
  const bool undefined = x < 0.0 && a < kInf<double> && !integral;
  return static_cast<float>(undefined ? kNan<double> : signed_result);
}

// Not vectorised: 2 ulp here would need a double-double logarithm, and libm's pow is already table-driven.
UNDERTOW_VM_INLINE double pow(double base, double exponent) { return std::pow(base, exponent); }

}  // namespace undertow::core::vm
