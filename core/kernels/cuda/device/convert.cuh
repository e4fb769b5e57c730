// convert.cuh: conversion between dtypes, as a C++ cast does it: complex numbers lose their imaginary part, numbers
// become true where they are not zero.
#pragma once
#include "device/complex.cuh"
#include "device/storage.cuh"

namespace undertow {

template <class T>
inline constexpr bool kIsWideUnsigned = kSame<T, uint16_t> || kSame<T, uint32_t> || kSame<T, uint64_t>;

template <class To, class From>
UT_DEVICE To convert(From x) {
  if constexpr (kSame<To, From>) {
    return x;
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>)
      return To(convert<RealOf<To>>(x.re), convert<RealOf<To>>(x.im));
    else if constexpr (kSame<To, bool>)
      return convert<bool>(x.re) || convert<bool>(x.im);
    else
      return convert<To>(x.re);
  } else if constexpr (kIsComplex<To>) {
    return To(convert<RealOf<To>>(x), RealOf<To>(0.0f));
  } else if constexpr (kIsHalf<From> || kIsFloat8<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (kIsHalf<To> || kIsFloat8<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (kSame<To, bool>) {
    return x != From(0);
  } else if constexpr (kIsWideUnsigned<To> && kIsFloating<From>) {
    return to_unsigned<To>(x);
  } else if constexpr (kIsIntegral<To> && kIsFloating<From>) {
    // Through a wide integer, so that numbers out of range wrap as they do on the CPU.
    return static_cast<To>(static_cast<int64_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace undertow
