// half.h: arithmetic with at::Half and at::BFloat16. As in torch, the result of two of them is one of them.
#pragma once
#include <undertow/types/scalar_type.h>

#include <complex>
#include <limits>

namespace undertow::core {

template <class T>
concept ReducedFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

#define UT_HALF_OPERATOR(op)                                      \
  template <ReducedFloat T>                                       \
  T operator op(T a, T b) {                                       \
    return static_cast<float>(a) op static_cast<float>(b);        \
  }                                                               \
  template <ReducedFloat T, class N>                              \
    requires(std::is_integral_v<N>)                               \
  T operator op(T a, N b) {                                       \
    return static_cast<float>(a) op static_cast<float>(b);        \
  }                                                               \
  template <ReducedFloat T, class N>                              \
    requires(std::is_integral_v<N>)                               \
  T operator op(N a, T b) {                                       \
    return static_cast<float>(a) op static_cast<float>(b);        \
  }                                                               \
  template <ReducedFloat T, class N>                              \
    requires(std::is_arithmetic_v<N> || ReducedFloat<N>)          \
  T& operator op## = (T & a, N b) {                               \
    return a = T(static_cast<float>(a) op static_cast<float>(b)); \
  }
UT_HALF_OPERATOR(+)
UT_HALF_OPERATOR(-)
UT_HALF_OPERATOR(*)
UT_HALF_OPERATOR(/)
#undef UT_HALF_OPERATOR
template <ReducedFloat T>
T operator-(T a) {
  return -static_cast<float>(a);
}

}  // namespace undertow::core

#define UT_HALF_LIMITS(Type, MANTISSA, EXPONENT, MIN, MAX, EPSILON)                                          \
  template <>                                                                                                \
  class std::numeric_limits<Type> {                                                                          \
   public:                                                                                                   \
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;     \
    static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;               \
    static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false;                            \
    static constexpr int digits = MANTISSA, radix = 2, max_exponent = EXPONENT, min_exponent = 3 - EXPONENT; \
    static constexpr int digits10 = (MANTISSA - 1) * 3 / 10, max_digits10 = 2 + MANTISSA * 3 / 10;           \
    static Type of(uint16_t bits) {                                                                          \
      Type v;                                                                                                \
      v.bits = bits;                                                                                         \
      return v;                                                                                              \
    }                                                                                                        \
    static Type min() { return of(MIN); }                                                                    \
    static Type max() { return of(MAX); }                                                                    \
    static Type lowest() { return of(MAX | 0x8000); }                                                        \
    static Type epsilon() { return of(EPSILON); }                                                            \
    static Type infinity() { return of(MAX + 1); }                                                           \
    static Type signaling_NaN() { return of(MAX + 2); }                                                      \
    static Type quiet_NaN() { return of(MAX + 1 + (1 << (MANTISSA - 2))); }                                  \
    static Type denorm_min() { return of(1); }                                                               \
  }
UT_HALF_LIMITS(undertow::core::Half, 11, 16, 0x0400, 0x7bff, 0x1400);
UT_HALF_LIMITS(undertow::core::BFloat16, 8, 128, 0x0080, 0x7f7f, 0x3c00);
#undef UT_HALF_LIMITS

// The class; torch::complex and at::complex are the operator.
namespace c10 {
template <class T>
using complex = std::complex<T>;
}
