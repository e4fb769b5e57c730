// vec_math_fmod.h: fmod, and the remainder and quotient of floor division.
// See Note [Branch-Free Math] in vec_math.h.
//
// Note [Large Quotients]
// One division gives an exact remainder if the quotient has fewer bits than a mantissa. Larger quotients, zeros,
// infinities and NaN need libm's loop, which does not suit a vector loop. So the apply_* functions search each block
// for such pairs and compute the whole block by libm if there are any. They may run in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "vec_math_base.h"

namespace undertow::core::vm {

// Is |a / b| small, and are both far enough from underflow and overflow?
template <typename T>
UNDERTOW_VM_INLINE bool has_small_quotient(T a, T b) {
  constexpr T limit = sizeof(T) == 4 ? T(0x1p22) : T(0x1p51);
  constexpr T least = sizeof(T) == 4 ? T(0x1p-70) : T(0x1p-900), most = sizeof(T) == 4 ? T(0x1p100) : T(0x1p900);
  return (abs(b) > least) & (abs(b) < most) & (abs(a) < abs(b) * limit);
}

// The remainder of truncated division, for small quotients. The rounded quotient may be one too large.
template <typename T>
UNDERTOW_VM_INLINE T fmod_small(T a, T b) {
  const T x = abs(a), y = abs(b);
  const T q = std::is_same_v<T, float> ? T(__builtin_truncf(float(x / y))) : T(__builtin_trunc(double(x / y)));
  const T product = q * y;
  const T r = (x - product) - product_error(q, y, product);
  return copysign(r < T(0) ? r + y : r, a);
}

// The remainder of floor division, which has the sign of b, from that of truncated division.
template <typename T>
UNDERTOW_VM_INLINE T remainder_from(T r, T b) {
  const bool signs_differ = (r != T(0)) & ((b < T(0)) != (r < T(0)));
  return signs_differ ? r + b : r;
}

// Python's floor division, exactly an integer, from r = fmod(a, b).
template <typename T>
UNDERTOW_VM_INLINE T floor_quotient_from(T r, T a, T b) {
  const bool signs_differ = (r != T(0)) & ((b < T(0)) != (r < T(0)));
  const T q = (a - r) / b - (signs_differ ? T(1) : T(0));
  const T whole = std::is_same_v<T, float> ? T(__builtin_floorf(float(q))) : T(__builtin_floor(double(q)));
  const T nearest = q - whole > T(0.5) ? whole + T(1) : whole;
  const T of_zero = q == T(0) ? copysign(T(0), a / b) : nearest;
  return b == T(0) ? a / b : of_zero;
}

// out[i] = finish(fmod(a[i], b[i]), a[i], b[i]).
template <typename T, typename Finish>
static inline void apply_remainders(const T* a, const T* b, T* out, std::size_t n, Finish finish) {
  constexpr std::size_t block = 256;
  for (std::size_t start = 0; start < n; start += block) {
    const std::size_t end = std::min(n, start + block);
    typename Real<T>::Bits others = 0;  // as wide as T, which vectorises; a bool does not
    for (std::size_t i = start; i < end; ++i) others |= has_small_quotient(a[i], b[i]) ? 0 : 1;
    if (others == 0) {
#pragma GCC ivdep
      for (std::size_t i = start; i < end; ++i) out[i] = finish(fmod_small(a[i], b[i]), a[i], b[i]);
    } else {
      for (std::size_t i = start; i < end; ++i) out[i] = finish(std::fmod(a[i], b[i]), a[i], b[i]);
    }
  }
}
template <typename T>
static inline void apply_fmod(const T* a, const T* b, T* out, std::size_t n) {
  apply_remainders(a, b, out, n, [](T r, T, T) { return r; });
}
template <typename T>
static inline void apply_remainder(const T* a, const T* b, T* out, std::size_t n) {
  apply_remainders(a, b, out, n, [](T r, T, T y) { return remainder_from(r, y); });
}
template <typename T>
static inline void apply_floor_divide(const T* a, const T* b, T* out, std::size_t n) {
  apply_remainders(a, b, out, n, [](T r, T x, T y) { return floor_quotient_from(r, x, y); });
}

}  // namespace undertow::core::vm
