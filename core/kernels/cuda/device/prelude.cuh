// prelude.cuh: what every kernel uses: integer names, dtypes without a C++ type, limits, and small helpers.
// The compiler at run time has no standard headers, so the few things we need are here. The tests compile the same
// sources for the host, with UNDERTOW_EMULATED.
#pragma once

#ifndef UNDERTOW_EMULATED
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long long;
using uint64_t = unsigned long long;
using size_t = unsigned long;
using uintptr_t = unsigned long long;
// Dynamic shared memory, whose size is given at the launch.
#define UT_DYNAMIC_SHARED(type, name)           \
  extern __shared__ uint4 ut_dynamic_shared[]; \
  type* name = reinterpret_cast<type*>(ut_dynamic_shared)
#endif

#define UT_DEVICE __device__ __forceinline__

namespace undertow {

template <class A, class B>
inline constexpr bool kSame = false;
template <class A>
inline constexpr bool kSame<A, A> = true;
template <bool choose_first, class A, class B>
struct ConditionalOf {
  using type = A;
};
template <class A, class B>
struct ConditionalOf<false, A, B> {
  using type = B;
};
template <bool choose_first, class A, class B>
using Conditional = typename ConditionalOf<choose_first, A, B>::type;

// IEEE half precision, stored; arithmetic is in float.
struct Half {
  uint16_t bits;
  Half() = default;
  UT_DEVICE Half(float x) : bits(round(x)) {}
  UT_DEVICE operator float() const { return widen(bits); }
  UT_DEVICE static uint16_t round(float x) {
#ifdef UNDERTOW_EMULATED
    _Float16 h = static_cast<_Float16>(x);
    uint16_t b;
    __builtin_memcpy(&b, &h, 2);
    return b;
#else
    uint16_t b;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(x));
    return b;
#endif
  }
  UT_DEVICE static float widen(uint16_t b) {
#ifdef UNDERTOW_EMULATED
    _Float16 h;
    __builtin_memcpy(&h, &b, 2);
    return static_cast<float>(h);
#else
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(b));
    return x;
#endif
  }
};

// The upper half of a float, stored; arithmetic is in float.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  UT_DEVICE BFloat16(float x) : bits(round(x)) {}
  UT_DEVICE operator float() const { return __uint_as_float(static_cast<uint32_t>(bits) << 16); }
  UT_DEVICE static uint16_t round(float x) {  // to nearest, ties to even; NaN stays NaN
#if !defined(UNDERTOW_EMULATED) && __CUDA_ARCH__ >= 800
    uint16_t b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(x));
    return b;
#else
    uint32_t b = __float_as_uint(x);
    if ((b & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((b >> 16) | 0x40);
    return static_cast<uint16_t>((b + 0x7fffu + ((b >> 16) & 1)) >> 16);
#endif
  }
};

template <class T>
inline constexpr bool kIsHalf = kSame<T, Half> || kSame<T, BFloat16>;
template <class T>
inline constexpr bool kIsFloating = kSame<T, float> || kSame<T, double> || kIsHalf<T>;
template <class T>
inline constexpr bool kIsIntegral = kSame<T, bool> || kSame<T, int8_t> || kSame<T, uint8_t> || kSame<T, int16_t> ||
                                    kSame<T, uint16_t> || kSame<T, int32_t> || kSame<T, uint32_t> ||
                                    kSame<T, int64_t> || kSame<T, uint64_t>;

// The type in which elements of T are computed.
template <class T>
using OpMath = Conditional<kIsHalf<T>, float, T>;

template <class T>
struct Limits;
template <>
struct Limits<float> {
  static UT_DEVICE float infinity() { return __int_as_float(0x7f800000); }
  static UT_DEVICE float nan() { return __int_as_float(0x7fc00000); }
  static UT_DEVICE float lowest() { return -3.402823466e38f; }
  static UT_DEVICE float highest() { return 3.402823466e38f; }
  static UT_DEVICE float epsilon() { return 1.1920928955078125e-7f; }
};
template <>
struct Limits<double> {
  static UT_DEVICE double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
  static UT_DEVICE double nan() { return __longlong_as_double(0x7ff8000000000000ll); }
  static UT_DEVICE double lowest() { return -1.7976931348623157e308; }
  static UT_DEVICE double highest() { return 1.7976931348623157e308; }
  static UT_DEVICE double epsilon() { return 2.220446049250313e-16; }
};
#define UT_INTEGER_LIMITS(T, low, high)             \
  template <>                                       \
  struct Limits<T> {                                \
    static UT_DEVICE T lowest() { return low; }    \
    static UT_DEVICE T highest() { return high; } \
  };
UT_INTEGER_LIMITS(bool, false, true)
UT_INTEGER_LIMITS(uint8_t, 0, 255)
UT_INTEGER_LIMITS(int8_t, -128, 127)
UT_INTEGER_LIMITS(int16_t, -32768, 32767)
UT_INTEGER_LIMITS(int32_t, -2147483647 - 1, 2147483647)
UT_INTEGER_LIMITS(int64_t, -9223372036854775807ll - 1, 9223372036854775807ll)
#undef UT_INTEGER_LIMITS

template <class T>
UT_DEVICE T least_of(T a, T b) {
  return b < a ? b : a;
}
template <class T>
UT_DEVICE T greatest_of(T a, T b) {
  return a < b ? b : a;
}

// The number of this thread in a grid of one dimension, and the number of all threads.
UT_DEVICE int64_t thread_number() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
UT_DEVICE int64_t thread_count() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

}  // namespace undertow

using namespace undertow;
