// half_loops.cpp: see half_loops.h.
#include "core/kernels/cpu/half/half_loops.h"

#include <algorithm>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {
namespace {

// Four blocks, one for the result and one for each of three inputs, fit half of the L1 cache.
constexpr int64_t kBlock = 1024;

}  // namespace

HalfLines::HalfLines(DType half) {
  const HalfKernels& k = half_kernels();
  widen = half == DType::BFloat16 ? k.widen_bf16 : k.widen_f16;
  narrow = half == DType::BFloat16 ? k.narrow_bf16 : k.narrow_f16;
}

void loop_in_float(LoopFn loop, DType half, int inputs, bool to_bool, char* const* p, const int64_t* strides, int64_t n,
                   const Scalar* params) noexcept {
  const auto [widen, narrow] = HalfLines(half);
  alignas(64) float block[4][kBlock];
  constexpr int64_t width = sizeof(uint16_t);
  char *at[4], *out = p[0];
  int64_t steps[4] = {to_bool ? strides[0] : int64_t{sizeof(float)}};
  at[0] = reinterpret_cast<char*>(block[0]);
  for (int k = 1; k <= inputs; k++) {
    at[k] = reinterpret_cast<char*>(block[k]);
    steps[k] = strides[k] ? int64_t{sizeof(float)} : 0;
    if (!strides[k]) widen(1, reinterpret_cast<const uint16_t*>(p[k]), 1, block[k]);
  }
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = std::min(kBlock, n - done);
    for (int k = 1; k <= inputs; k++)
      if (strides[k])
        widen(count, reinterpret_cast<const uint16_t*>(p[k] + done * strides[k]), strides[k] / width, block[k]);
    if (to_bool) at[0] = out + done * strides[0];
    loop(at, steps, count, params);
    if (!to_bool) narrow(count, block[0], reinterpret_cast<uint16_t*>(out + done * strides[0]), strides[0] / width);
  }
}

}  // namespace undertow::core::cpu
