// half.isa.cpp: the conversions of half_kernels.h: float16 instructions if available, else branch-free bit arithmetic
// that the compiler can vectorize. Compiled once per instruction set with the flags listed in gemm.isa.cpp. See Note
// [One Namespace Per Instruction Set]. Knows nothing about matrix products.
#include "core/kernels/cpu/half/half_kernels.h"
#include "core/kernels/cpu/half/half_vectors.h"

namespace undertow::core::cpu {
namespace {

inline float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }

struct Bf16 {
  static float widen(uint16_t h) { return float_of(static_cast<uint32_t>(h) << 16); }
  static uint16_t narrow(float value) {
    uint32_t bits = bits_of(value);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    uint32_t quiet_nan = (bits >> 16) | 0x40;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
  }
};

struct F16 {
  static float widen(uint16_t h) {
    // The exponent biases differ by 112; a multiplication adjusts the exponent, also for subnormals.
    uint32_t magnitude = (h & 0x7fffu) << 13;
    uint32_t finite = bits_of(float_of(magnitude) * 0x1p112f);
    // NaN becomes quiet, as in the vector instructions.
    uint32_t special = magnitude | (h & 0x3ff ? 0x7fc00000 : 0x7f800000);
    return float_of((h & 0x8000u) << 16 | ((h & 0x7c00) == 0x7c00 ? special : finite));
  }
  static uint16_t narrow(float value) {
    uint32_t bits = bits_of(value);
    uint32_t magnitude = bits & 0x7fffffff;
    uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23)) >> 13;
    // Adding one half aligns the unit of subnormals, 2^-24, with the last bit of a float, so the addition rounds.
    uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    uint32_t special = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x3ff) : 0x7c00;
    uint32_t small_or_normal = magnitude < 0x38800000 ? subnormal : normal;
    return static_cast<uint16_t>((bits >> 16 & 0x8000) | (magnitude >= 0x47800000 ? special : small_or_normal));
  }
};

#if !defined(__AVX2__) || !defined(__F16C__)
template <class Half>
void widen(int64_t count, const uint16_t* from, int64_t stride, float* to) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = Half::widen(from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = Half::widen(from[i * stride]);
  }
}

template <class Half>
void narrow(int64_t count, const float* from, uint16_t* to, int64_t stride) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = Half::narrow(from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * stride] = Half::narrow(from[i]);
  }
}
#endif

#if defined(__AVX2__) && defined(__F16C__)
template <class Vectors, class Half>
void widen_runs(int64_t count, const uint16_t* from, int64_t stride, float* to) {
  int64_t i = 0;
  for (; stride == 1 && i + kHalfRun <= count; i += kHalfRun) Vectors::widen(from + i, to + i);
  for (; i < count; ++i) to[i] = Half::widen(from[i * stride]);
}
template <class Vectors, class Half>
void narrow_runs(int64_t count, const float* from, uint16_t* to, int64_t stride) {
  int64_t i = 0;
  for (; stride == 1 && i + kHalfRun <= count; i += kHalfRun) Vectors::narrow(from + i, to + i);
  for (; i < count; ++i) to[i * stride] = Half::narrow(from[i]);
}
constexpr HalfKernels kKernels = {widen_runs<Bf16Vectors, Bf16>, widen_runs<F16Vectors, F16>,
                                  narrow_runs<Bf16Vectors, Bf16>, narrow_runs<F16Vectors, F16>};
#else
constexpr HalfKernels kKernels = {widen<Bf16>, widen<F16>, narrow<Bf16>, narrow<F16>};
#endif

}  // namespace

namespace UNDERTOW_ISA_NS {
const HalfKernels& half_kernels() { return kKernels; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
