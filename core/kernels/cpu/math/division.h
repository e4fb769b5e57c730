// division.h: truncated and floor division and their remainders, for numbers and for arrays of them.
// Knows no tensor. See Note [Branch-Free Math] in vec_math.h.
//
// Note [Integers Divided As Doubles]
// A processor divides eight doubles in the time of one or two 64-bit integers. If |a| and |b| are below 2^51, a / b in
// double is exact enough: a quotient that is no integer differs from every integer by at least 1 / |b|, and its
// rounding error is at most |a / b| 2^-53, a quarter of that. So blocks of such numbers, without a division by zero,
// are divided as doubles, and other blocks one by one.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/base/error.h"
#include "core/kernels/cpu/math/vec_math_fmod.h"

#ifndef UNDERTOW_ISA_NS
#define UNDERTOW_ISA_NS any_isa
#endif

namespace undertow::core::cpu::UNDERTOW_ISA_NS::scalar_math {

#define UT_INLINE static inline __attribute__((always_inline))

[[noreturn, gnu::cold, gnu::noinline]] inline void division_by_zero() { UT_FAIL("ZeroDivisionError"); }
template <class T>
UT_INLINE T trunc_divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == T(0)) division_by_zero();
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return static_cast<T>(-a);  // the minimum integer divided by -1 would trap
    }
    return static_cast<T>(a / b);
  } else {
    return std::trunc(a / b);
  }
}
template <class T>
UT_INLINE T fmod_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (b == T(0)) division_by_zero();
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return T(0);
    }
    return static_cast<T>(a % b);
  } else {
    return std::fmod(a, b);
  }
}
template <class T>
UT_INLINE T remainder_of(T a, T b) {
  T r = fmod_of(a, b);
  if constexpr (std::is_integral_v<T>) {
    const T differ = T((r != T(0)) & ((b < T(0)) != (r < T(0))));
    return static_cast<T>(r + (b & static_cast<T>(-differ)));  // a branch would often be mispredicted
  } else {
    return vm::remainder_from(r, b);
  }
}
// Python's floor division: the quotient that leaves a remainder with the divisor's sign, and is exactly an integer.
template <class T>
UT_INLINE T floor_divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    T q = trunc_divide(a, b);
    if constexpr (std::is_signed_v<T>) {
      T rest = static_cast<T>(a - q * b);  // cheaper than a second division
      // Branch-free: half of the branches would be mispredicted.
      return static_cast<T>(q - T((rest != T(0)) & ((rest < T(0)) != (b < T(0)))));
    }
    return q;
  } else {
    return vm::floor_quotient_from(std::fmod(a, b), a, b);
  }
}

// Conversions of integers below 2^51: AVX2 has none of 64-bit integers.
constexpr double kIntegerMagic = 0x1.8p52;
UT_INLINE double integer_as_double(int32_t x) { return x; }
UT_INLINE double integer_as_double(int64_t x) {
  return std::bit_cast<double>(static_cast<uint64_t>(x) + std::bit_cast<uint64_t>(kIntegerMagic)) - kIntegerMagic;
}
UT_INLINE void set_integer(int32_t& to, double x) { to = static_cast<int32_t>(x); }
UT_INLINE void set_integer(int64_t& to, double x) {
  to = static_cast<int64_t>(std::bit_cast<uint64_t>(x + kIntegerMagic) - std::bit_cast<uint64_t>(kIntegerMagic));
}
// Not 0 if a / b cannot be computed as doubles.
UT_INLINE uint32_t not_as_doubles(int32_t a, int32_t b) {
  return (b == 0 ? 1u : 0u) | (a == std::numeric_limits<int32_t>::min() ? 1u : 0u);  // divided by -1 it overflows
}
UT_INLINE uint64_t not_as_doubles(int64_t a, int64_t b) {
  constexpr uint64_t limit = uint64_t{1} << 51;
  return ((static_cast<uint64_t>(a) + limit) | (static_cast<uint64_t>(b) + limit)) >> 52 | (b == 0 ? 1u : 0u);
}

// out[i] = of(a[i], b[i]), computed as as_doubles(a[i], b[i]) where possible. May run in place.
template <class T, class AsDoubles, class Of>
static inline void divide_integers(const T* a, const T* b, T* out, size_t n, AsDoubles as_doubles, Of of) {
#if defined(__AVX2__)
  constexpr size_t block = 256;
  for (size_t start = 0; start < n; start += block) {
    const size_t end = std::min(n, start + block);
    std::make_unsigned_t<T> others = 0;
    for (size_t i = start; i < end; ++i) others |= not_as_doubles(a[i], b[i]);
    if (others == 0) {
#pragma GCC ivdep
      for (size_t i = start; i < end; ++i)
        set_integer(out[i], as_doubles(integer_as_double(a[i]), integer_as_double(b[i])));
    } else {
      for (size_t i = start; i < end; ++i) out[i] = of(a[i], b[i]);
    }
  }
#else
  (void)as_doubles;
  for (size_t i = 0; i < n; ++i) out[i] = of(a[i], b[i]);
#endif
}

template <class T>
static inline void apply_trunc_divide(const T* a, const T* b, T* out, size_t n) {
  if constexpr (std::is_integral_v<T>) {
    divide_integers(a, b, out, n, [](double x, double y) { return __builtin_trunc(x / y); }, trunc_divide<T>);
  } else {
#pragma GCC ivdep
    for (size_t i = 0; i < n; ++i) out[i] = trunc_divide(a[i], b[i]);
  }
}
template <class T>
static inline void apply_floor_divide(const T* a, const T* b, T* out, size_t n) {
  if constexpr (std::is_integral_v<T>)
    divide_integers(a, b, out, n, [](double x, double y) { return __builtin_floor(x / y); }, floor_divide<T>);
  else
    vm::apply_floor_divide(a, b, out, n);
}
template <class T>
static inline void apply_fmod(const T* a, const T* b, T* out, size_t n) {
  if constexpr (std::is_integral_v<T>)
    divide_integers(a, b, out, n, [](double x, double y) { return x - __builtin_trunc(x / y) * y; }, fmod_of<T>);
  else
    vm::apply_fmod(a, b, out, n);
}
template <class T>
static inline void apply_remainder(const T* a, const T* b, T* out, size_t n) {
  if constexpr (std::is_integral_v<T>)
    divide_integers(a, b, out, n, [](double x, double y) { return x - __builtin_floor(x / y) * y; }, remainder_of<T>);
  else
    vm::apply_remainder(a, b, out, n);
}
#undef UT_INLINE

}  // namespace undertow::core::cpu::UNDERTOW_ISA_NS::scalar_math
