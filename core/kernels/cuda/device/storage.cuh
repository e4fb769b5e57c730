// storage.cuh: the elements of the dtypes that are stored and converted but not computed with: floats of 8 bits. The
// device's side of core/tensor/dtype/storage_dtypes.cpp. See Note [Storage DTypes].
#pragma once
#include "device/prelude.cuh"

namespace undertow {

// A sign, then exponent and mantissa. kGreatest: the code of the greatest finite number; kOverflow: of what is greater.
// kUnsignedZero: one zero, one NaN of code 0x80, no infinity.
template <int mantissa_bits, int bias, uint32_t greatest, uint32_t overflow, bool unsigned_zero>
struct Float8 {
  uint8_t code;
  Float8() = default;
  UT_DEVICE explicit Float8(float v) : code(encode(v)) {}
  UT_DEVICE explicit operator float() const { return decode(code); }

  static UT_DEVICE float decode(uint32_t code) {
    if (unsigned_zero && code == 0x80) return __uint_as_float(0x7f800001u);
    uint32_t magnitude = code & 0x7f, sign = (code & 0x80) << 24;
    uint32_t exponent = magnitude >> mantissa_bits, mantissa = magnitude & ((1u << mantissa_bits) - 1);
    if (magnitude > greatest) {
      uint32_t quiet = magnitude == overflow ? 0 : mantissa << (23 - mantissa_bits) | 0x400000;
      return __uint_as_float(sign | 0x7f800000 | quiet);
    }
    // The least numbers are multiples of 2^(1 - bias - mantissa_bits), which is a normal float.
    float v = exponent ? __uint_as_float((exponent + 127 - bias) << 23 | mantissa << (23 - mantissa_bits))
                       : static_cast<float>(mantissa) * __uint_as_float((128 - bias - mantissa_bits) << 23);
    return __uint_as_float(__float_as_uint(v) | sign);
  }
  static UT_DEVICE uint8_t encode(float v) {
    uint32_t bits = __float_as_uint(v), sign = bits >> 24 & 0x80, a = bits & 0x7fffffff;
    if (a > 0x7f800000) return static_cast<uint8_t>(unsigned_zero ? 0x80 : sign | 0x7f);
    constexpr int dropped = 23 - mantissa_bits;
    uint32_t code;
    if (static_cast<int>(a >> 23) <= 127 - bias) {  // below the least normal number: a multiple of the least one
      code = static_cast<uint32_t>(::rintf(__uint_as_float(a) * __uint_as_float((126 + bias + mantissa_bits) << 23)));
    } else {  // rounds to nearest even
      uint32_t rounded = a + (1u << (dropped - 1)) - 1 + (a >> dropped & 1);
      code = (rounded >> dropped) - (static_cast<uint32_t>(127 - bias) << mantissa_bits);
    }
    if (code > greatest) code = overflow;
    if (unsigned_zero && (code == 0 || code == 0x80)) return static_cast<uint8_t>(code);
    return static_cast<uint8_t>(sign | code);
  }
};
using Float8_e4m3fn = Float8<3, 7, 0x7e, 0x7e, false>;
using Float8_e5m2 = Float8<2, 15, 0x7b, 0x7c, false>;
using Float8_e4m3fnuz = Float8<3, 8, 0x7f, 0x80, true>;
using Float8_e5m2fnuz = Float8<2, 16, 0x7f, 0x80, true>;

// A bare exponent.
struct Float8_e8m0fnu {
  uint8_t code;
  Float8_e8m0fnu() = default;
  UT_DEVICE explicit Float8_e8m0fnu(float v) {
    uint32_t bits = __float_as_uint(v), exponent = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
    // Ties go up, except among numbers below the least power of two.
    bool up = mantissa > 0x400000 || (mantissa == 0x400000 && exponent > 0);
    code = static_cast<uint8_t>(exponent == 0xff ? 0xff : exponent + up);
  }
  UT_DEVICE explicit operator float() const {
    return __uint_as_float(code == 0xff ? 0x7f800001u : code == 0 ? 0x400000u : static_cast<uint32_t>(code) << 23);
  }
};

template <class T>
inline constexpr bool kIsFloat8 = kSame<T, Float8_e4m3fn> || kSame<T, Float8_e5m2> || kSame<T, Float8_e4m3fnuz> ||
                                  kSame<T, Float8_e5m2fnuz> || kSame<T, Float8_e8m0fnu>;

// Float to unsigned as the vector instructions of x86 do it, which torch uses: what does not fit gives the least signed
// number, and the upper half of the range is reached by subtracting the middle first.
template <class Signed>
UT_DEVICE Signed truncated(double v) {
  constexpr Signed least = static_cast<Signed>(1ull << (8 * sizeof(Signed) - 1));
  constexpr double middle = -static_cast<double>(least);
  return v > -middle - 1 && v < middle ? static_cast<Signed>(v) : least;
}
template <class To>
UT_DEVICE To to_unsigned(double v) {
  if constexpr (sizeof(To) == 2) {
    return static_cast<To>(truncated<int32_t>(v));
  } else {
    using Signed = Conditional<sizeof(To) == 4, int32_t, int64_t>;
    constexpr To top = To(1) << (8 * sizeof(To) - 1);
    constexpr double middle = static_cast<double>(top);
    return v >= middle ? static_cast<To>(static_cast<To>(truncated<Signed>(v - middle)) ^ top)
                       : static_cast<To>(truncated<Signed>(v));
  }
}

}  // namespace undertow
