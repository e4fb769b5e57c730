// vec_math_erf.h: the error function, its complement, the normal distribution function, and the two GELUs.
// Its inverse is in vec_math_erfinv.h. See Note [Branch-Free Math] in vec_math.h.
#pragma once

#include "vec_math_base.h"
#include "vec_math_exp.h"

namespace undertow::core::vm {

UNDERTOW_VM_INLINE double erf_small(double z) {  // erf(x)/x - 1 on z = x * x <= 1
  return poly(z, 0x1.06eba8214db68p-3, -0x1.812746b0379c2p-2, 0x1.ce2f21a04100fp-4, -0x1.b82ce31206088p-6,
              0x1.565bccfa962cfp-8, -0x1.c02db0725490ep-11, 0x1.f9a2bf65a27c6p-14, -0x1.f4ca93c5b70abp-17,
              0x1.b9827340b75b3p-20, -0x1.5c16b4bf6b2e4p-23, 0x1.d7835e094293dp-27, -0x1.acdc7c082205cp-31);
}
UNDERTOW_VM_INLINE float erf_small(float z) {
  return poly(z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2d1ep-4f, -0x1.b7fba8p-6f, 0x1.54199cp-8f, -0x1.a4836cp-11f,
              0x1.4ade1ep-14f);
}

// -log(erfc(1 + t)). Its error is weighted by erfc, so it may grow with t, which keeps the degree low.
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

// (x + 3) e^(x*x) erfc(x) in u = (x - 3) / (x + 3), for x in [0.45, 27.3], relative error 2^-59. The factor x + 3
// flattens the function; without it, cancellation in the polynomial at large x costs a factor of ten.
UNDERTOW_VM_INLINE double erfc_scaled(double u) {
  return poly(u, 0x1.12f21ddd9f5e2p+0, -0x1.c44c471baa376p-1, 0x1.2e326945de2bdp-1, -0x1.3deb21415dcaep-2,
              0x1.e995f11b163dcp-4, -0x1.b78993d6b1e46p-6, -0x1.3dd3e70b730d1p-10, 0x1.8dae3a260bcefp-9,
              -0x1.1f78e1bd07c20p-11, -0x1.2238fd504b636p-12, 0x1.c3255037fa29cp-14, 0x1.fdff30c0693edp-16,
              -0x1.251c801f9fd7dp-16, -0x1.3eb5c422980e7p-18, 0x1.7346049906520p-19, 0x1.0bf9cd308c478p-20,
              -0x1.b80b24eb38465p-22, -0x1.f1ac24cc665a6p-23, 0x1.a26f5559680d4p-25, 0x1.9af598cc5eac8p-25,
              -0x1.b8d6846499f1dp-29, -0x1.a312b4f2874b3p-28);
}
// The same on [0, 10.2] with error 2^-28, for float results.
UNDERTOW_VM_INLINE double erfc_scaled_short(double u) {
  return poly(u, 0x1.12f21ddff1e7fp+0, -0x1.c44c483e1566ep-1, 0x1.2e3267bdf4b47p-1, -0x1.3deacca6fdd4ap-2,
              0x1.e997201e77dddp-4, -0x1.b7bea4d89fe34p-6, -0x1.414be889497ecp-10, 0x1.93cbff987ff84p-9,
              -0x1.fbcf60a6e244ep-12, -0x1.5604e2f1c3f7cp-12);
}

// For |x| < 1/2 (either sign) 1 - erf(x) is as accurate and needs no reflection. In the far tail the round-off of the
// polynomial and the exponential add up to 5 ulp, in exchange for ten times the speed of libm. |x| is at most 27.3 and
// its square is given in two parts.
UNDERTOW_VM_INLINE double erfc_of(double x, double square, double square_low) {
  const double a = abs(x);
  const auto [n, p] = exp_parts(-square);
  const double e = (1.0 + p) - square_low * (1.0 + p);
  const double u = (a - 3.0) / (a + 3.0);
  const double tail = scale_by_pow2(e * erfc_scaled(u) / (a + 3.0), n);
  const double far = x < 0.0 ? 2.0 - tail : tail;
  const double near = 1.0 - (x + x * erf_small(a * a));
  return a < 0.5 ? near : far;
}
UNDERTOW_VM_INLINE double erfc(double x) {
  const double within = at_least(at_most(x, 27.3), -27.3);
  const double square = within * within;
  return erfc_of(within, square, product_error(within, within, square));
}
// With a relative error of 2^-28, for float results: in double, x * x is exact for a float x.
UNDERTOW_VM_INLINE double erfc_short(double x) {
  const double a = at_most(abs(x), 10.2);
  const auto [n, p] = exp_parts(-(a * a));
  const double two_n = pow2_of(n);
  const double inverse = 1.0 / (a + 3.0);
  const double tail = (two_n + two_n * p) * inverse * erfc_scaled_short((a - 3.0) * inverse);
  return x < 0.0 ? 2.0 - tail : tail;
}
UNDERTOW_VM_INLINE float erfc(float x) { return static_cast<float>(erfc_short(static_cast<double>(x))); }

// Phi(x), the normal distribution function, with relative accuracy in the left tail.
UNDERTOW_VM_INLINE double ndtr(double x) {  // erfc(-x / sqrt(2)) / 2, where the square of the argument is x * x / 2
  const double within = at_least(at_most(x, 38.6), -38.6);
  const double square = within * within;
  return 0.5 * erfc_of(within * -0x1.6a09e667f3bcdp-1, 0.5 * square, 0.5 * product_error(within, within, square));
}
UNDERTOW_VM_INLINE float ndtr(float x) {
  return static_cast<float>(0.5 * erfc_short(static_cast<double>(x) * -0x1.6a09e667f3bcdp-1));
}

// Phi(x) with absolute accuracy in the left tail, like torch's gelu formula.
UNDERTOW_VM_INLINE double normal_cdf(double x) { return 0.5 * (1.0 + vm::erf(x * 0x1.6a09e667f3bcdp-1)); }
// Phi(-a) = 2^-h(a) with a polynomial h for a <= 7 and zero beyond: one exponential, no second branch.
UNDERTOW_VM_INLINE float normal_cdf(float x) {
  const float a = abs(x);
  const float h = poly(a, 1.0f, 0x1.26af9cp+0f, 0x1.d61a46p-2f, 0x1.b162d0p-5f, -0x1.f62168p-8f, 0x1.30a8aep-11f,
                       0x1.d9ac4cp-17f, -0x1.a7811cp-18f, 0x1.6fd4d8p-22f);
  const float n = round_small(-h), r = -h - n, two_n = pow2_of(n);
  const float tail = a > 7.0f ? 0.0f : two_n + two_n * (r * exp2_tail(r));
  return x < 0.0f ? tail : 1.0f - tail;
}

template <typename T>
UNDERTOW_VM_INLINE T gelu_erf(T x) {
  return x * normal_cdf(x);
}

template <typename T>
UNDERTOW_VM_INLINE T gelu_tanh(T x) {
  const T inner = T(0x1.9884533d43651p-1) * (x + T(0.044715) * x * x * x);
  return (T(0.5) * x) * (T(1) + vm::tanh(inner));
}

}  // namespace undertow::core::vm
