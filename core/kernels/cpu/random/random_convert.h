// random_convert.h: converts a drawn number to an element of each dtype.
// Knows no generator and no distribution; private to the random*.cpp files.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/kernels/cpu/random/random.h"

namespace undertow::core::random {

// Round to nearest, ties to even; NaN does not occur in drawn numbers.
inline std::uint16_t to_half_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const float magnitude = std::bit_cast<float>(bits & 0x7fffffffu);
  if (magnitude >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x1p-14f) {  // half denormals: adding 1/2 aligns the last half bit with the last float bit
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(magnitude + 0.5f) - 0x3f000000u));
  }
  const std::uint32_t m = std::bit_cast<std::uint32_t>(magnitude);
  return static_cast<std::uint16_t>(sign | ((m + 0xfffu + ((m >> 13) & 1u) - (112u << 23)) >> 13));
}

inline std::uint16_t to_bfloat16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float from_half_bits(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const float tiny = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -tiny : tiny;
  }
  const std::uint32_t wide = exponent == 31 ? 255u : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

inline float from_bfloat16_bits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// 16-bit types are converted through float, also from double: torch's conversions round twice, so we do too.
template <typename T, typename From>
T convert(From value) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half{to_half_bits(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16{to_bfloat16_bits(static_cast<float>(value))};
  } else {
    return static_cast<T>(value);
  }
}

// The arithmetic type of an element: float for the 16-bit types.
inline float widen(Half value) { return from_half_bits(value.bits); }
inline float widen(BFloat16 value) { return from_bfloat16_bits(value.bits); }
inline float widen(float value) { return value; }
inline double widen(double value) { return value; }

template <typename T>
inline constexpr bool kIsFloating =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Significand bits, the hidden one included: integers up to 2^kDigits are exact.
template <typename T>
inline constexpr int kDigits = std::is_same_v<T, double>  ? 53
                               : std::is_same_v<T, float> ? 24
                               : std::is_same_v<T, Half>  ? 11
                                                          : 8;

}  // namespace undertow::core::random
