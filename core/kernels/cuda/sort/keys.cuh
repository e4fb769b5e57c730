// keys.cuh: unsigned keys with the same order as the elements: -0 equals 0, and NaN is larger than everything.
#pragma once
#include "device/prelude.cuh"

namespace undertow {

template <class T>
using KeyOf = Conditional<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T>
inline constexpr int kKeyBits = sizeof(T) * 8;

// The key of a float whose bits are given, in as many bits.
template <class K>
UT_DEVICE K float_key(K bits, int width, K infinity) {
  const K sign = K(1) << (width - 1), all = sign | (sign - 1), magnitude = bits & (sign - 1);
  if (magnitude > infinity) return all;
  return (bits & sign) && magnitude ? bits ^ all : magnitude | sign;
}

template <class T>
UT_DEVICE KeyOf<T> key_of(T v) {
  if constexpr (kSame<T, bool> || kSame<T, uint8_t> || kSame<T, uint16_t> || kSame<T, uint32_t> || kSame<T, uint64_t>)
    return v;
  else if constexpr (kSame<T, Half>)
    return float_key<uint32_t>(v.bits, 16, 0x7c00u);
  else if constexpr (kSame<T, BFloat16>)
    return float_key<uint32_t>(v.bits, 16, 0x7f80u);
  else if constexpr (kSame<T, float>)
    return float_key<uint32_t>(__float_as_uint(v), 32, 0x7f800000u);
  else if constexpr (kSame<T, double>)
    return float_key<uint64_t>(static_cast<uint64_t>(__double_as_longlong(v)), 64, 0x7ff0000000000000ull);
  else if constexpr (kSame<T, int64_t>)
    return static_cast<uint64_t>(v) ^ (uint64_t(1) << 63);
  else  // a narrower signed integer, in as many bits
    return (static_cast<uint32_t>(static_cast<int32_t>(v)) ^ (1u << (kKeyBits<T> - 1))) &
           static_cast<uint32_t>((uint64_t(1) << kKeyBits<T>)-1);
}
// Complemented for descending order.
template <class T>
UT_DEVICE KeyOf<T> key_of(T v, bool descending) {
  const KeyOf<T> all = static_cast<KeyOf<T>>(~uint64_t(0) >> (64 - kKeyBits<T>));
  return descending ? key_of(v) ^ all : key_of(v);
}

}  // namespace undertow
