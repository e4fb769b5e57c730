// half_kernels.h: converts runs of bfloat16 and float16 to float and back, compiled once per instruction set.
// Works on bits in uint16_t; knows no tensor type.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

struct HalfKernels {
  using Widen = void (*)(int64_t count, const uint16_t* from, int64_t stride, float* to);
  using Narrow = void (*)(int64_t count, const float* from, uint16_t* to, int64_t stride);
  Widen widen_bf16, widen_f16;     // exact
  Narrow narrow_bf16, narrow_f16;  // to nearest, ties to even; NaN stays NaN
};

UNDERTOW_FOR_EACH_ISA(const HalfKernels& half_kernels();)

inline const HalfKernels& half_kernels() {
  static const HalfKernels& chosen = UNDERTOW_CHOOSE_ISA(half_kernels());
  return chosen;
}

}  // namespace undertow::core::cpu
