// softmax_kernels.h: softmax and log_softmax with their backward passes, and logsumexp, compiled once per instruction
// set. Knows blocks of n rows and `inner` columns, normalised over the rows; float and double.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

template <class T>
struct SoftmaxLoops {
  // in and out: `lines` contiguous lines of n elements, each normalised.
  void (*lines)(const T* in, T* out, int64_t lines, int64_t n, bool log);
  // grad_in = out * (grad - sum(grad * out)), or grad - exp(out) * sum(grad) for log.
  void (*lines_backward)(const T* grad, const T* out, T* grad_in, int64_t lines, int64_t n, bool log);
  // The same for `width` adjacent columns (at most kSoftmaxWidth) of n rows, rows `stride` elements apart.
  void (*columns)(const T* in, T* out, int64_t n, int64_t stride, int64_t width, bool log);
  void (*columns_backward)(const T* grad, const T* out, T* grad_in, int64_t n, int64_t stride, int64_t width, bool log);
  // out[k] = log(sum(exp(line k))), and the same for columns: out[j] for j < width.
  void (*lines_lse)(const T* in, T* out, int64_t lines, int64_t n);
  void (*columns_lse)(const T* in, T* out, int64_t n, int64_t stride, int64_t width);
};
inline constexpr int64_t kSoftmaxWidth = 256;

UNDERTOW_FOR_EACH_ISA(const SoftmaxLoops<float>& softmax_float(); const SoftmaxLoops<double>& softmax_double();)

}  // namespace undertow::core::cpu
