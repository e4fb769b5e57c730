// vec_math_erfinv.h: the inverse error function and the quantiles of the normal distribution.
// See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include "vec_math_base.h"
#include "vec_math_log.h"

namespace undertow::core::vm {

// erfinv(y) / y as a function of w = -log(1 - y * y): polynomials in w near zero, in s = sqrt(w) farther out. `y` is
// below 1, so w ends at 16.7 for float and at 36.8 for double.
UNDERTOW_VM_INLINE float erfinv_factor(float w, float s) {
  const float near = poly(w - 2.5f, 0x1.805c5ep+0f, 0x1.f91e8ap-3f, -0x1.11c506p-8f, -0x1.48650cp-10f, 0x1.c9e97p-13f,
                          -0x1.4db186p-18f, -0x1.d0edap-19f, 0x1.f6a6f8p-22f, 0x1.90e8acp-26f, -0x1.32e60ep-27f);
  const float far =
      poly(s - 3.0f, 0x1.6a9efcp+1f, 0x1.006dcap+0f, 0x1.35813cp-7f, -0x1.f4f166p-8f, 0x1.74bdbcp-8f, -0x1.d2cefep-9f,
           0x1.8265b8p-10f, -0x1.146302p-13f, -0x1.1d987ep-12f, 0x1.6236f8p-13f, -0x1.230592p-15f);
  return w < 5.0f ? near : far;
}
UNDERTOW_VM_INLINE double erfinv_factor(double w, double s) {
  const double near =
      poly(w - 3.0, 0x1.9fa072ed72dbbp+0, 0x1.eedbebdce73e6p-3, -0x1.780def1d3f3ffp-8, -0x1.b6666b152b661p-11,
           0x1.9912c04a501f2p-13, -0x1.aab13d1c2749ep-17, -0x1.d539ca175ac91p-20, 0x1.e32b0d49a4fdfp-22,
           -0x1.96f81eb1e4c7fp-26, -0x1.77b3a13c70ca6p-28, 0x1.31556b71e4d1p-30, -0x1.146c0ceeb112fp-35,
           -0x1.30d8ccf28c4eap-36, 0x1.7bd8787070135p-39, 0x1.be17c2f60bep-48, -0x1.dcbfa03933bc4p-45,
           0x1.c8c5f47132742p-48, 0x1.3bf80cf783e3dp-52, -0x1.76cf01ba6594bp-53, 0x1.dafb4fe02a26cp-57,
           0x1.2d37ac45dfdd5p-59, -0x1.ce564b0e47e8ep-62, -0x1.81ab51d514e6cp-67, 0x1.47a851c2cf954p-68);
  const double middle = poly(
      s - 3.25, 0x1.8abcc380d5a48p+1, 0x1.0158a6d641d55p+0, 0x1.5ffcfe5b6c8a8p-8, -0x1.ebadabba02d3ap-9,
      0x1.468eeca965bbap-9, -0x1.ba9240d87415fp-10, 0x1.f3cc54520d94p-11, -0x1.7448bcc8ea9c3p-12, 0x1.932ea04f6574fp-16,
      0x1.1e6abbd7abd32p-14, -0x1.8cf4995a5979fp-15, 0x1.a241cae74d5c2p-17, 0x1.89a81fbc0f615p-19,
      -0x1.0b7a06e800eadp-18, 0x1.8d73d26de5c6dp-20, -0x1.da3643f95d39p-26, -0x1.060a126b3b84ep-22,
      0x1.1a8c29c916ac7p-23, -0x1.7c09be1fa7c4cp-26, -0x1.06d5469a1aff1p-26, 0x1.1682a99f317bep-27);
  const double far = poly(s - 5.0, 0x1.3664ddd1ad7fbp+2, 0x1.02a30d1fba106p+0, -0x1.22ea5df12d55ap-13,
                          -0x1.c2f36a9f7b0a9p-13, 0x1.3ebf4edc78e43p-14, -0x1.4a3490fd409e4p-16, 0x1.2fbd100186c58p-18,
                          -0x1.0a8ff8df60a68p-20, 0x1.ebd7cdddb2dd1p-23, -0x1.22408003e7b7bp-24, 0x1.f384f97829639p-26,
                          -0x1.055572c63f7eap-26, 0x1.098122179a7a8p-27, -0x1.e368852850fcfp-29, 0x1.82c95447f2ea5p-30,
                          -0x1.c4caf81a96214p-32, 0x1.7f147480f86abp-36, 0x1.44c7fdedba997p-35, -0x1.5c5576df40749p-37);
  return w < 6.0 ? near : w < 16.0 ? middle : far;
}

// The same for the w beyond, which only quantiles of tiny probabilities need: w to 108 for float, 756 for double.
constexpr float kErfinvFarFloat = 16.9f;
constexpr double kErfinvFarDouble = 39.0;
UNDERTOW_VM_INLINE float erfinv_factor_tail(float s) {
  return poly(s - 7.0f, 0x1.b79e04p+2f, 0x1.023354p+0f, -0x1.0cdc98p-11f, 0x1.9c63c4p-18f, 0x1.9ffdaep-18f,
              -0x1.a54baep-20f, 0x1.208962p-22f, -0x1.f75f2ep-25f, 0x1.eb1302p-27f, -0x1.aa7a6ep-30f);
}
UNDERTOW_VM_INLINE double erfinv_factor_tail(double s) {
  const double u = (s - 13.0) / (s + 13.0);
  return s * poly(u, 0x1.fc4a687e3cb1fp-1, 0x1.7a52a631f80c4p-6, -0x1.1a0d33259c1dp-5, 0x1.371fb1f5c2655p-5,
                  -0x1.34a9ffd5a5efep-5, 0x1.195cf89fe9575p-5, -0x1.d868e551637fbp-6, 0x1.617538fea3c16p-6,
                  -0x1.aab74feede554p-7, 0x1.cb8cddd9f968fp-9, 0x1.b2e5095aa9bb5p-8, -0x1.18b9ec2252a39p-6,
                  0x1.c6afaee7533cbp-6, -0x1.38644392b4c8bp-5, 0x1.8526e09e4ee01p-5, -0x1.d5da91f64c817p-5,
                  0x1.28f46cb28c517p-4, -0x1.3eeb48dda95bp-4, 0x1.7e053d03daa05p-5, -0x1.fa6673c8af39ep-5,
                  0x1.8f7d1cab54439p-3, -0x1.7981e83114d03p-3);
}

// 1 - y is exact where it matters, near 1. Beyond 1 the logarithm is NaN.
template <typename T>
UNDERTOW_VM_INLINE T erfinv(T y) {
  const T w = -vm::log((T(1) - y) * (T(1) + y));
  const T inside = y * erfinv_factor(w, vm::sqrt(w));
  return abs(y) == T(1) ? copysign(kInf<T>, y) : inside;
}

// The x with Phi(x) = p: sqrt(2) erfinv(2p - 1). In the tails w comes from p itself, so no digit is lost.
template <typename T>
UNDERTOW_VM_INLINE T ndtri(T p) {
  constexpr T far = sizeof(T) == 4 ? T(kErfinvFarFloat) : T(kErfinvFarDouble);
  const T y = (p - T(0.5)) + (p - T(0.5));
  const T w = -vm::log(T(4) * p * (T(1) - p)), s = vm::sqrt(w);
  const T factor = w < far ? erfinv_factor(w, s) : erfinv_factor_tail(s);
  const T inside = T(0x1.6a09e667f3bcdp+0) * (y * factor);
  return p == T(0) ? -kInf<T> : p == T(1) ? kInf<T> : inside;
}

}  // namespace undertow::core::vm
