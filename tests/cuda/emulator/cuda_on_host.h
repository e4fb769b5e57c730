// cuda_on_host.h: the CUDA language for g++: qualifiers, indices, vector types, atomics, the entry points of a module.
// Device code is compiled with this file included first. Like NVRTC it shows no name of the standard library; of the C
// library it includes only what declares the functions that CUDA has too.
#pragma once
#ifdef EMBED_HEADER_TEXT  // see embedded_headers.cpp
EMBED_HEADER_TEXT(cuda_on_host, __FILE__)
#else
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS 1  // C's own math.h: the one of C++ would bring namespace std
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "device_interface.h"

// NVRTC has none of these.
#undef INFINITY
#undef NAN
#undef HUGE_VAL
#undef HUGE_VALF
#undef M_E
#undef M_PI
#undef M_PI_2
#undef M_PI_4
#undef M_1_PI
#undef M_2_PI
#undef M_2_SQRTPI
#undef M_SQRT2
#undef M_SQRT1_2
#undef M_LN2
#undef M_LN10
#undef M_LOG2E
#undef M_LOG10E
#undef assert

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_ARCH__ UNDERTOW_EMULATED_ARCH

#define __global__
#define __device__
#define __host__
#define __managed__
#define __constant__ __attribute__((visibility("default")))
#define __shared__ static  // one block runs at a time
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
// Real CUDA declares `extern __shared__ type name[]`, which the emulator cannot give an address.
#define UT_DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(emulated::dynamic_shared)

// With the widths that NVRTC's own typedefs have; a program may declare the same ones again.
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
typedef long long intptr_t;

#define EMULATED_VECTORS(type, name, align2, align4)                          \
  struct name##1 { type x; };                                                 \
  struct __attribute__((aligned(align2))) name##2 { type x, y; };             \
  struct name##3 { type x, y, z; };                                           \
  struct __attribute__((aligned(align4))) name##4 { type x, y, z, w; };       \
  inline name##1 make_##name##1(type x) { return {x}; }                       \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
EMULATED_VECTORS(signed char, char, 2, 4)
EMULATED_VECTORS(unsigned char, uchar, 2, 4)
EMULATED_VECTORS(short, short, 4, 8)
EMULATED_VECTORS(unsigned short, ushort, 4, 8)
EMULATED_VECTORS(int, int, 8, 16)
EMULATED_VECTORS(unsigned, uint, 8, 16)
EMULATED_VECTORS(long, long, 16, 16)
EMULATED_VECTORS(unsigned long, ulong, 16, 16)
EMULATED_VECTORS(long long, longlong, 16, 16)
EMULATED_VECTORS(unsigned long long, ulonglong, 16, 16)
EMULATED_VECTORS(float, float, 8, 16)
EMULATED_VECTORS(double, double, 16, 16)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

// The emulator sets them before a thread runs, and again whenever it comes back to it.
static uint3 threadIdx;
static uint3 blockIdx;
static dim3 blockDim;
static dim3 gridDim;
constexpr int warpSize = 32;

namespace emulated {

static char* dynamic_shared;
static const Services* services;

// Takes the parameters of a kernel apart.
template <unsigned... i>
struct Numbers {};
template <unsigned n, unsigned... i>
struct CountTo : CountTo<n - 1, n - 1, i...> {};
template <unsigned... i>
struct CountTo<0, i...> {
  using type = Numbers<i...>;
};

template <auto variable>
struct Describe {
  static constexpr Symbol symbol(const char* name) {
    return {
        name, nullptr, 0, nullptr, const_cast<void*>(static_cast<const volatile void*>(variable)), sizeof(*variable)};
  }
};
template <class... P, void (*kernel)(P...)>
struct Describe<kernel> {
  static constexpr unsigned sizes[sizeof...(P) + 1] = {sizeof(P)..., 0};
  template <unsigned... i>
  static inline __attribute__((always_inline)) void thread(void** parameters, Numbers<i...>) {
    kernel(*static_cast<P*>(parameters[i])...);
  }
  static void run(void** parameters, bool whole_block) {
    constexpr typename CountTo<sizeof...(P)>::type all{};
    if (!whole_block) return thread(parameters, all);
    for (unsigned z = 0; z < blockDim.z; ++z) {
      for (unsigned y = 0; y < blockDim.y; ++y) {
        for (unsigned x = 0; x < blockDim.x; ++x) {
          threadIdx = {x, y, z};
          thread(parameters, all);
        }
      }
    }
  }
  static constexpr Symbol symbol(const char* name) { return {name, run, sizeof...(P), sizes, nullptr, 0}; }
};

}  // namespace emulated

extern "C" __attribute__((visibility("default")))
const emulated::Module undertow_emulated_module = {emulated::kInterfaceVersion,
                                                   reinterpret_cast<emulated::Index*>(&threadIdx),
                                                   reinterpret_cast<emulated::Index*>(&blockIdx),
                                                   reinterpret_cast<emulated::Index*>(&blockDim),
                                                   reinterpret_cast<emulated::Index*>(&gridDim),
                                                   &emulated::dynamic_shared,
                                                   &emulated::services};

// The emulator's NVRTC ends a source with one of these for each kernel that the program can ask for.
#define UNDERTOW_EMULATED_SYMBOL(symbol_name, ...)                                                        \
  extern "C" __attribute__((visibility("default"))) const emulated::Symbol undertow_symbol_##symbol_name; \
  const emulated::Symbol undertow_symbol_##symbol_name = emulated::Describe<(&__VA_ARGS__)>::symbol(#__VA_ARGS__);

// Only one thread of the process runs kernels at a time, and only one block of a kernel, so plain operations are
// atomic.
#define EMULATED_ATOMIC(name, type, result)                                            \
  inline type name(type* address, type value) {                                        \
    type old = *address;                                                               \
    *address = result;                                                                 \
    return old;                                                                        \
  }                                                                                    \
  inline type name##_block(type* address, type value) { return name(address, value); } \
  inline type name##_system(type* address, type value) { return name(address, value); }
#define EMULATED_ATOMICS(type)                                \
  EMULATED_ATOMIC(atomicMin, type, value < old ? value : old) \
  EMULATED_ATOMIC(atomicMax, type, value > old ? value : old) \
  EMULATED_ATOMIC(atomicAnd, type, old& value)                \
  EMULATED_ATOMIC(atomicOr, type, old | value)                \
  EMULATED_ATOMIC(atomicXor, type, old ^ value)
EMULATED_ATOMICS(int)
EMULATED_ATOMICS(unsigned)
EMULATED_ATOMICS(long long)
EMULATED_ATOMICS(unsigned long long)
EMULATED_ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
EMULATED_ATOMIC(atomicAdd, unsigned, old + value)
EMULATED_ATOMIC(atomicAdd, unsigned long long, old + value)
EMULATED_ATOMIC(atomicAdd, float, old + value)
EMULATED_ATOMIC(atomicAdd, double, old + value)
EMULATED_ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
EMULATED_ATOMIC(atomicSub, unsigned, old - value)
EMULATED_ATOMIC(atomicExch, int, value)
EMULATED_ATOMIC(atomicExch, unsigned, value)
EMULATED_ATOMIC(atomicExch, unsigned long long, value)
EMULATED_ATOMIC(atomicExch, float, value)
EMULATED_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
EMULATED_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#define EMULATED_CAS(type)                                          \
  inline type atomicCAS(type* address, type expected, type value) { \
    type old = *address;                                            \
    if (old == expected) *address = value;                          \
    return old;                                                     \
  }
EMULATED_CAS(int)
EMULATED_CAS(unsigned)
EMULATED_CAS(unsigned long long)
EMULATED_CAS(unsigned short)

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}
inline long long clock64() {
  static long long calls = 0;
  return ++calls;  // the emulator says nothing about time
}
inline int clock() { return static_cast<int>(clock64()); }

#define EMULATED_LOAD(name)         \
  template <class T>                \
  inline T name(const T* address) { \
    return *address;                \
  }
#define EMULATED_STORE(name)              \
  template <class T>                      \
  inline void name(T* address, T value) { \
    *address = value;                     \
  }
EMULATED_LOAD(__ldg)
EMULATED_LOAD(__ldcg)
EMULATED_LOAD(__ldca)
EMULATED_LOAD(__ldcs)
EMULATED_LOAD(__ldlu)
EMULATED_LOAD(__ldcv)
EMULATED_STORE(__stwb)
EMULATED_STORE(__stcg)
EMULATED_STORE(__stcs)
EMULATED_STORE(__stwt)

namespace emulated {
constexpr int kAssert = 710;
constexpr int kIllegalInstruction = 715;
[[noreturn]] inline void stop(int result, const char* message) {
  services->stop(result, message);
  __builtin_unreachable();
}
}  // namespace emulated
[[noreturn]] inline void __trap() { emulated::stop(emulated::kIllegalInstruction, "the kernel called __trap"); }
[[noreturn]] inline void __assert_failed(const char* text) { emulated::stop(emulated::kAssert, text); }
#define assert(condition) ((condition) ? (void)0 : __assert_failed("assertion failed: " #condition))

#include "cuda_on_host_math.h"
#include "cuda_on_host_warp.h"

#endif  // EMBED_HEADER_TEXT
