// vec_math_trig.h: sin, cos, tan for moderate arguments, and array versions that are correct for all arguments.
// Has no inverse functions. See Note [Branch-Free Math] in vec_math.h.
//
// Note [Large Trigonometric Arguments]
// Subtracting a multiple of pi/2 in a few exact parts works only up to kTrigBound; beyond it, hundreds of digits of
// 2/pi are needed, which does not suit a vector loop. So vm::sin(x), cos and tan are undefined beyond the bound, and
// apply_sin, apply_cos, apply_tan search each block for such elements and pass exactly those to libm. Kernels on arrays
// call apply_*; they may run in place.
#pragma once

#include <cstddef>
#include <cstring>

#include "vec_math_base.h"

namespace undertow::core::vm {

template <typename T>
inline constexpr T kTrigBound = sizeof(T) == 4 ? T(0x1p16) : T(0x1p20);

// x = quadrant * pi/2 + r + low, |r| <= pi/4; low is the round-off of r.
template <typename T>
struct Reduced {
  T r;
  T low;
  typename Real<T>::Bits quadrant;  // only its two lowest bits are meaningful
};

UNDERTOW_VM_INLINE Reduced<double> reduce_by_half_pi(double x) {
  const double biased = x * 0x1.45f306dc9c883p-1 + Real<double>::kMagic;
  const double n = biased - Real<double>::kMagic;
  // 33-bit parts: n * part is exact for n < 2^20, also without FMA.
  const double a = x - n * 0x1.921fb544p+0;
  const double b = n * 0x1.0b4611a6p-34;
  const double c = n * 0x1.3198a2ep-69;
  const double r1 = a - b;
  const double back1 = a - r1;
  const double low1 = (a - (r1 + back1)) + (back1 - b);
  const double r2 = r1 + (low1 - c);
  const double low2 = (r1 - r2) + (low1 - c);
  return {r2, low2 - n * 0x1.b839a252049c1p-104, to_bits(biased)};
}

UNDERTOW_VM_INLINE Reduced<float> reduce_by_half_pi(float x) {
  const float biased = x * 0x1.45f306p-1f + Real<float>::kMagic;
  const float n = biased - Real<float>::kMagic;
#ifdef __FP_FAST_FMAF
  const float a = __builtin_fmaf(-n, 0x1.921fb6p+0f, x);  // exact
  const float b = n * 0x1.777a5cp-25f;                    // pi/2 is less than its first part
  const float b_low = __builtin_fmaf(n, 0x1.777a5cp-25f, -b) + n * 0x1.ee59dap-50f;
  const float r = a + b;
  const float back = r - a;
  const float low = ((a - (r - back)) + (b - back)) + b_low;
  return {r, low, to_bits(biased)};
#else
  const double wide = (static_cast<double>(x) - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34;
  const float r = static_cast<float>(wide);
  return {r, static_cast<float>(wide - r), to_bits(biased)};
#endif
}

UNDERTOW_VM_INLINE double sin_tail(double z) {  // (sin(r)/r - 1) / z, z = r * r
  return poly(z, -0x1.5555555555547p-3, 0x1.111111110f5e7p-7, -0x1.a01a019bbc384p-13, 0x1.71de352b670bap-19,
              -0x1.ae5e28e40e1b6p-26, 0x1.5d80cec38da80p-33);
}
UNDERTOW_VM_INLINE float sin_tail(float z) {
  return poly(z, -0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f30p-13f, 0x1.6cbe80p-19f);
}
UNDERTOW_VM_INLINE double cos_tail(double z) {  // (cos(r) - 1 + z/2) / z^2
  return poly(z, 0x1.555555555554ap-5, -0x1.6c16c16c14e9dp-10, 0x1.a01a019c679f5p-16, -0x1.27e4f7d2e4a0ap-22,
              0x1.1ee9c58c97b02p-29, -0x1.8f9a4bfa243ecp-37);
}
UNDERTOW_VM_INLINE float cos_tail(float z) { return poly(z, 0x1.55554ap-5f, -0x1.6c0c24p-10f, 0x1.99e3fap-16f); }

template <typename T>
UNDERTOW_VM_INLINE T sin_reduced(T r, T low) {
  const T z = r * r;
  return r + (r * z * sin_tail(z) + low * (T(1) - T(0.5) * z));
}

template <typename T>
UNDERTOW_VM_INLINE T cos_reduced(T r, T low) {
  const T z = r * r;
  const T half = T(0.5) * z;
  const T head = T(1) - half;
  return head + (((T(1) - head) - half) + (z * z * cos_tail(z) - r * low));
}

// Shifts bit 1 of the quadrant, which counts half turns, into the sign of x.
template <typename T>
UNDERTOW_VM_INLINE T flip_sign_by_bit1(T x, typename Real<T>::Bits quadrant) {
  constexpr int to_sign = static_cast<int>(sizeof(T)) * 8 - 2;
  return std::bit_cast<T>(to_bits(x) ^ ((quadrant << to_sign) & Real<T>::kSignMask));
}

template <typename T>
UNDERTOW_VM_INLINE T sin(T x) {
  const auto [r, low, quadrant] = reduce_by_half_pi(x);
  const T chosen = (quadrant & 1) != 0 ? cos_reduced(r, low) : sin_reduced(r, low);
  return x == T(0) ? x : flip_sign_by_bit1(chosen, quadrant);  // keeps -0
}

template <typename T>
UNDERTOW_VM_INLINE T cos(T x) {
  const auto [r, low, quadrant] = reduce_by_half_pi(x);
  const T chosen = (quadrant & 1) != 0 ? sin_reduced(r, low) : cos_reduced(r, low);
  return flip_sign_by_bit1(chosen, quadrant + 1);
}

template <typename T>
UNDERTOW_VM_INLINE T tan(T x) {
  const auto [r, low, quadrant] = reduce_by_half_pi(x);
  const T s = sin_reduced(r, low), c = cos_reduced(r, low);
  const bool odd = (quadrant & 1) != 0;
  const T ratio = (odd ? c : s) / (odd ? -s : c);
  return x == T(0) ? x : ratio;
}

// sin(pi x) / (pi x) for every x: x minus an even number is exact, so no large angle is reduced.
template <typename T>
UNDERTOW_VM_INLINE T sinc(T x) {
  const T y = x - T(2) * nearest_integer(T(0.5) * x);
  const T biased = T(2) * y + Real<T>::kMagic;
  const T r = y - T(0.5) * (biased - Real<T>::kMagic);  // |r| <= 1/4
  constexpr T pi = T(4) * Real<T>::kPiOver4, pi_low = T(4) * Real<T>::kPiOver4Lo;
  const T angle = pi * r, low = product_error(pi, r, angle) + pi_low * r;
  const auto quadrant = to_bits(biased);
  const T sine = (quadrant & 1) != 0 ? cos_reduced(angle, low) : sin_reduced(angle, low);
  return abs(x) < T(0x1p-30) ? T(1) : flip_sign_by_bit1(sine, quadrant) / (pi * x);
}

// Runs `fast` over an array and recomputes with `exact` wherever |x| > kTrigBound or x is not finite.
template <typename T, typename Fast, typename Exact>
UNDERTOW_VM_INLINE void apply_trig(const T* in, T* out, std::size_t n, Fast fast, Exact exact) {
  constexpr std::size_t kBlock = 512;  // small enough to stay in L1 for the second pass
  T kept[kBlock];
  for (std::size_t start = 0; start < n; start += kBlock) {
    const std::size_t count = n - start < kBlock ? n - start : kBlock;
    const T* x = in + start;
    T* y = out + start;
    unsigned beyond = 0;
    for (std::size_t i = 0; i < count; ++i) beyond |= abs(x[i]) <= kTrigBound<T> ? 0u : 1u;
    if (beyond != 0) {
      std::memcpy(kept, x, count * sizeof(T));  // in place, the fast pass would overwrite the arguments
      x = kept;
    }
    for (std::size_t i = 0; i < count; ++i) y[i] = fast(x[i]);
    if (beyond == 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (!(abs(x[i]) <= kTrigBound<T>)) y[i] = exact(x[i]);
    }
  }
}

template <typename T>
static inline void apply_sin(const T* in, T* out, std::size_t n) {
  apply_trig(in, out, n, [](T x) { return vm::sin(x); }, [](T x) { return std::sin(x); });
}
template <typename T>
static inline void apply_cos(const T* in, T* out, std::size_t n) {
  apply_trig(in, out, n, [](T x) { return vm::cos(x); }, [](T x) { return std::cos(x); });
}
template <typename T>
static inline void apply_tan(const T* in, T* out, std::size_t n) {
  apply_trig(in, out, n, [](T x) { return vm::tan(x); }, [](T x) { return std::tan(x); });
}

}  // namespace undertow::core::vm
