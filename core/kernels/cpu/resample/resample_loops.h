// resample_loops.h: weighted sums of a few elements or rows, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

template <class T>
struct ResampleLoops {
  // out[j] = sum over k < taps of weight[k * n + j] * in[index[k * n + j]], for j < n. in has at least one element.
  void (*across)(const T* in, const int32_t* index, const T* weight, int64_t taps, int64_t n, T* out);
  // out[i] = sum over k < taps of weight[k * step] * in[index[k * step] * length + i], for i < length.
  void (*down)(const T* in, const int32_t* index, const T* weight, int64_t step, int64_t taps, int64_t length, T* out);
  // out[index[k * step] * length + i] += weight[k * step] * in[i]: the transpose of `down`.
  void (*spread)(const T* in, const int32_t* index, const T* weight, int64_t step, int64_t taps, int64_t length,
                 T* out);
};

UNDERTOW_FOR_EACH_ISA(const ResampleLoops<float>& resample_float(); const ResampleLoops<double>& resample_double();)

}  // namespace undertow::core::cpu
