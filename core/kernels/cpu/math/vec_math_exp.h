// vec_math_exp.h: exp, exp2, expm1 and functions of one exponential: sinh, cosh, tanh, sigmoid, silu.
// Has no logarithm. See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include "vec_math_base.h"

namespace undertow::core::vm {

// (e^r - 1 - r) / r^2 on |r| <= ln(2)/2.
UNDERTOW_VM_INLINE double exp_tail(double r) {
  return poly(r, 0x1.0000000000000p-1, 0x1.5555555555559p-3, 0x1.555555555553ep-5, 0x1.111111110f66cp-7,
              0x1.6c16c16c1f2f6p-10, 0x1.a01a01b004a99p-13, 0x1.a01a017b3819bp-16, 0x1.71ddf7f82f378p-19,
              0x1.27e536e90d367p-22, 0x1.af5f726388da5p-26, 0x1.1ee8133e3d34dp-29);
}
UNDERTOW_VM_INLINE float exp_tail(float r) {
  return poly(r, 0x1.000000p-1f, 0x1.555556p-3f, 0x1.5554aep-5f, 0x1.111168p-7f, 0x1.6d74ecp-10f, 0x1.a06228p-13f);
}

// (2^r - 1) / r on |r| <= 1/2.
UNDERTOW_VM_INLINE double exp2_tail(double r) {
  return poly(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c5a5p-3, 0x1.c6b08d704a0d7p-5, 0x1.3b2ab6fb9fe13p-7,
              0x1.5d87fe78a0e58p-10, 0x1.4309130f7518ap-13, 0x1.ffcbfc7c39eb3p-17, 0x1.62bfc6128c0a3p-20,
              0x1.b524ce05932dfp-24, 0x1.e61dfb8e3beb1p-28, 0x1.ea1820a0442adp-32);
}
UNDERTOW_VM_INLINE float exp2_tail(float r) {
  return poly(r, 0x1.62e430p-1f, 0x1.ebfbe0p-3f, 0x1.c6aecap-5f, 0x1.3b29eep-7f, 0x1.5f4a4ap-10f, 0x1.44610cp-13f);
}

// e^x = 2^n * (1 + p). The caller has bounded |x| so that n stays within about twice the exponent range.
template <typename T>
struct ExpParts {
  T n;
  T p;
};

template <typename T>
UNDERTOW_VM_INLINE ExpParts<T> exp_parts(T x) {
  const T n = round_small(x * Real<T>::kLog2E);
  const T high = x - n * Real<T>::kLn2Hi;  // exact
  const T low = n * Real<T>::kLn2Lo;
  const T r = high - low;
  const T lost = (high - r) - low;  // the round-off of r: worth half an ulp in expm1, tanh and sinh
  return {n, r + ((r * r) * exp_tail(r) + lost)};
}

// The same without the round-off of r: accurate enough if 1 is added.
template <typename T>
UNDERTOW_VM_INLINE ExpParts<T> exp_parts_short(T x) {
  const T n = round_small(x * Real<T>::kLog2E);
  const T r = (x - n * Real<T>::kLn2Hi) - n * Real<T>::kLn2Lo;
  return {n, r + (r * r) * exp_tail(r)};
}

// Beyond these bounds the result has already overflowed, or rounded to zero.
template <typename T>
inline constexpr T kExpHigh = sizeof(T) == 4 ? T(92) : T(720);
template <typename T>
inline constexpr T kExpLow = sizeof(T) == 4 ? T(-106) : T(-750);

template <typename T>
UNDERTOW_VM_INLINE T exp(T x) {
  const auto [n, p] = exp_parts_short(at_most(at_least(x, kExpLow<T>), kExpHigh<T>));
  return scale_by_pow2(T(1) + p, n);
}

template <typename T>
UNDERTOW_VM_INLINE T exp2(T x) {
  constexpr T high = sizeof(T) == 4 ? T(132) : T(1030), low = sizeof(T) == 4 ? T(-152) : T(-1080);
  const T y = at_most(at_least(x, low), high);
  const T n = round_small(y);
  const T r = y - n;
  return scale_by_pow2(T(1) + r * exp2_tail(r), n);
}

// 2^n * (p + 1) - 1 as 2^n * (p + (1 - 2^-n)): no cancellation, and n = 0 gives p itself.
template <typename T>
UNDERTOW_VM_INLINE T expm1(T x) {
  constexpr T low = sizeof(T) == 4 ? T(-30) : T(-60);   // already -1
  constexpr T far = sizeof(T) == 4 ? T(100) : T(1000);  // 2^-n no longer matters, and must stay normal
  const auto [n, p] = exp_parts(at_most(at_least(x, low), kExpHigh<T>));
  const T inverse = pow2_of(-at_most(n, far));
  // Otherwise -0 would become +0.
  return copysign(scale_by_pow2(p + (T(1) - inverse), n), x);
}

// With h = (e^|x| - 1) / 2, sinh|x| = h + h / (2h + 1); h overflows only where sinh does.
template <typename T>
UNDERTOW_VM_INLINE T sinh(T x) {
  constexpr T far = sizeof(T) == 4 ? T(100) : T(1000);
  const auto [n, p] = exp_parts(at_most(abs(x), kExpHigh<T>));
  const T h = scale_by_pow2(p + (T(1) - pow2_of(-at_most(n, far))), n - T(1));
  const T small = h / (h + h + T(1));
  // Avoids inf / inf on overflow.
  return copysign(h < kInf<T> ? h + small : h, x);
}

template <typename T>
UNDERTOW_VM_INLINE T cosh(T x) {
  const auto [n, p] = exp_parts(at_most(abs(x), kExpHigh<T>));
  const T h = scale_by_pow2(T(1) + p, n - T(1));
  return h + T(0.25) / h;
}

template <typename T>
UNDERTOW_VM_INLINE T tanh(T x) {
  constexpr T saturated = sizeof(T) == 4 ? T(10) : T(20);
  const auto [n, p] = exp_parts(T(2) * at_most(abs(x), saturated));
  const T two_n = pow2_of(n);
  const T em1 = p * two_n + (two_n - T(1));
  return copysign(em1 / (em1 + T(2)), x);
}

// 1 + e^-x, infinite if 2^n would leave the normal range, which happens for an x about 1/3 before e^-x itself
// overflows. A sigmoid divided by it is 0 from there on; torch's becomes 0 a little later.
template <typename T>
inline constexpr T kOnePlusExpHigh = sizeof(T) == 4 ? T(88.3) : T(709.4);
template <typename T>
UNDERTOW_VM_INLINE T one_plus_exp_neg(T x) {
  constexpr T high = kOnePlusExpHigh<T>, low = sizeof(T) == 4 ? T(-80) : T(-700);
  const auto [n, p] = exp_parts_short(at_most(at_least(-x, low), high));
  const T two_n = pow2_of(n);
  const T sum = (two_n + two_n * p) + T(1);
  return -x > high ? kInf<T> : sum;
}

template <typename T>
UNDERTOW_VM_INLINE T sigmoid(T x) {
  return T(1) / one_plus_exp_neg(x);
}

template <typename T>
UNDERTOW_VM_INLINE T silu(T x) {
  return x / one_plus_exp_neg(x);
}

}  // namespace undertow::core::vm
