// vec_math_erf.h: the error function, its complement, and the two GELUs built on them.
// Knows no inverse (erfinv is in special_math.h). See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include "vec_math_base.h"
#include "vec_math_exp.h"

namespace undertow::vm {

UNDERTOW_VM_INLINE double erf_small(double z) {  // erf(x)/x - 1 on z = x * x <= 1
  return poly(z, 0x1.06eba8214db68p-3, -0x1.812746b0379c2p-2, 0x1.ce2f21a04100fp-4, -0x1.b82ce31206088p-6,
              0x1.565bccfa962cfp-8, -0x1.c02db0725490ep-11, 0x1.f9a2bf65a27c6p-14, -0x1.f4ca93c5b70abp-17,
              0x1.b9827340b75b3p-20, -0x1.5c16b4bf6b2e4p-23, 0x1.d7835e094293dp-27, -0x1.acdc7c082205cp-31);
}
UNDERTOW_VM_INLINE float erf_small(float z) {
  return poly(z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2d1ep-4f, -0x1.b7fba8p-6f, 0x1.54199cp-8f, -0x1.a4836cp-11f,
              0x1.4ade1ep-14f);
}

// -log(erfc(1 + t)). Its error counts only by erfc, so it may grow with t, which keeps the degree low.
UNDERTOW_VM_INLINE double erf_exponent(double t) {
  return poly(t, 0x1.d97fbf27aa2a1p+0, 0x1.51c9b0006c21ep+1, 0x1.afabc11a2ad12p-1, 0x1.5477f099ecba8p-5,
              -0x1.48c9d38829a1cp-7, 0x1.033f5ad9c12f6p-9, -0x1.f1b079f048713p-13, -0x1.b92a01ab22617p-16,
              0x1.c84ba202cd3edp-16, -0x1.4471d6c0292dcp-17, 0x1.1ddcee8959869p-19, -0x1.b4a5db50760f6p-23,
              -0x1.f8e60c08d959cp-25, 0x1.2148037b79a99p-25, -0x1.2742b04ce5b74p-27, 0x1.6e2090337ec30p-30,
              -0x1.094d8ceabd34ap-33, 0x1.5aa0108843889p-38);
}
UNDERTOW_VM_INLINE float erf_exponent(float t) {
  return poly(t, 0x1.d97fc0p+0f, 0x1.51c9aap+1f, 0x1.afad1ap-1f, 0x1.53ff96p-5f, -0x1.44447cp-7f, 0x1.dfa580p-10f,
              -0x1.870f40p-13f);
}

template <typename T>
UNDERTOW_VM_INLINE T erf(T x) {
  constexpr T saturated = sizeof(T) == 4 ? T(4) : T(6);
  const T a = at_most(abs(x), saturated);
  const T small = a + a * erf_small(a * a);
  const auto [n, p] = exp_parts(-erf_exponent(a - T(1)));
  const T two_n = pow2_of(n);
  const T large = T(1) - (two_n + two_n * p);
  return copysign(a < T(1) ? small : large, x);
}

// e^(x*x) erfc(x) in u = (x - 3) / (x + 3), for x in [0, 27.3], relative error 2^-58.
UNDERTOW_VM_INLINE double erfc_scaled(double u) {
  return poly(u, 0x1.6e9827d229d2dp-3, -0x1.4e102b9cf8513p-2, 0x1.f6ff204105970p-3, -0x1.336ffbef08b57p-3,
              0x1.258b13b017ce4p-4, -0x1.8fa58eb5d8bcbp-6, 0x1.17c838ee4801ep-8, 0x1.73101e778891cp-11,
              -0x1.39084c3d8c7e4p-11, 0x1.7ba1043d11c18p-15, 0x1.0cac2d6f061efp-14, -0x1.af86e5c2bcaacp-17,
              -0x1.0bb2a0764fe50p-17, 0x1.1c8bbb97beb40p-19, 0x1.501d2e7abe2aap-20, -0x1.3b9dfc96cfaf4p-22,
              -0x1.f63612d3a4be8p-23, 0x1.e6f1e619ed9dfp-26, 0x1.89420fe0abcd7p-25, 0x1.82d302a681eb3p-30,
              -0x1.0eb9c30c9fe5cp-27, -0x1.9b73350b2a8cbp-30, 0x1.ce2790c0de3b8p-31, 0x1.38ecefdf9f840p-32);
}
// The same on [0, 10.2] to 2^-30, for float results.
UNDERTOW_VM_INLINE double erfc_scaled_short(double u) {
  return poly(u, 0x1.6e9827d02501ap-3, -0x1.4e102bb4dd67cp-2, 0x1.f6ff21a81bbd8p-3, -0x1.336ff433f3009p-3,
              0x1.258ad0bfd6365p-4, -0x1.8fa8b8bfe5dfbp-6, 0x1.17e83b62344bep-8, 0x1.7584d03a72dfap-11,
              -0x1.3bd1976a3ef22p-11, 0x1.031b1a8b90c5cp-15, 0x1.162c791d7cf6cp-14, 0x1.49e5325236aaap-18);
}

// For |x| < 1/2 (either sign) 1 - erf(x) is as exact and needs no reflection.
UNDERTOW_VM_INLINE double erfc(double x) {
  const double a = at_most(abs(x), 27.3);
  const double square = a * a;
  const double square_low = product_error(a, a, square);
  const auto [n, p] = exp_parts(-square);
  const double e = (1.0 + p) - square_low * (1.0 + p);
  const double u = (a - 3.0) / (a + 3.0);
  const double tail = scale_by_pow2(e * erfc_scaled(u), n);
  const double far = x < 0.0 ? 2.0 - tail : tail;
  const double near = 1.0 - (x + x * erf_small(a * a));
  return a < 0.5 ? near : far;
}
UNDERTOW_VM_INLINE float erfc(float x) {  // through double, which makes e^(-x*x) exact enough for nothing
  const double wide = static_cast<double>(x);
  const double a = at_most(abs(wide), 10.2);
  const auto [n, p] = exp_parts(-(a * a));
  const double two_n = pow2_of(n);
  const double tail = (two_n + two_n * p) * erfc_scaled_short((a - 3.0) / (a + 3.0));
  return static_cast<float>(wide < 0.0 ? 2.0 - tail : tail);
}

// x * Phi(x), in the form torch computes: absolute, not relative, accuracy in the left tail.
template <typename T>
UNDERTOW_VM_INLINE T gelu_erf(T x) { return (T(0.5) * x) * (T(1) + vm::erf(x * T(0x1.6a09e667f3bcdp-1))); }

template <typename T>
UNDERTOW_VM_INLINE T gelu_tanh(T x) {
  const T inner = T(0x1.9884533d43651p-1) * (x + T(0.044715) * x * x * x);
  return (T(0.5) * x) * (T(1) + vm::tanh(inner));
}

}  // namespace undertow::vm
