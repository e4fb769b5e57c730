// half.h: the two 16-bit floats as storage types. Arithmetic is done in float (see OpMath in dtype.h).
// The conversions use the same code in every translation unit, for any instruction set: inline functions that depend on
// a macro would break the one-definition rule. Kernels have their own vectorized conversions (kernels/cpu/half).
#pragma once
#include <bit>
#include <cstdint>

namespace undertow::core {

inline float half_to_float(uint16_t h) {
  uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {  // zero and subnormals: the value is mantissa * 2^-24
    float v = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(v) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

inline uint16_t float_to_half(float f) {
  uint32_t bits = std::bit_cast<uint32_t>(f), sign = (bits >> 16) & 0x8000, a = bits & 0x7fffffff;
  if (a > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00 | ((a >> 13) & 0x1ff));
  if (a >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to infinity
  if (a < 0x38800000) {                                              // subnormal: let float addition do the rounding
    float v = std::bit_cast<float>(a) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(v) - 0x3f000000));
  }
  uint32_t rounded = a + 0xfff + ((a >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

struct Half {
  uint16_t bits;
  Half() = default;
  Half(float f) : bits(float_to_half(f)) {}
  operator float() const { return half_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  BFloat16(float f) {
    uint32_t b = std::bit_cast<uint32_t>(f);
    // A NaN keeps a nonzero mantissa; all other values round to nearest even.
    bits = (b & 0x7fffffff) > 0x7f800000 ? static_cast<uint16_t>(0x7fc0)
                                         : static_cast<uint16_t>((b + 0x7fff + ((b >> 16) & 1)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace undertow::core
