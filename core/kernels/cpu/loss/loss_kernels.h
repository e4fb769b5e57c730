// loss_kernels.h: losses of one element and its target, and their slopes, compiled once per instruction set.
// Knows contiguous runs of float and double; how a tensor is cut into them and added up is
// forward/loss_elementwise.cpp's.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::cpu {

// Bce: of a probability. BceLogits: of its logit. BceLogitsWeighted: positive targets counted `weight` times.
enum class Loss : uint8_t { Squared, SmoothL1, Huber, SoftMargin, Bce, BceLogits, BceLogitsWeighted };

template <class T>
struct LossRun {
  const T *x, *y, *weight;  // weight: read by BceLogitsWeighted alone
  int64_t n;
  T limit;  // where SmoothL1 and Huber become linear
};

template <class T>
struct LossKernels {
  // out[i] = loss(x[i], y[i])
  void (*values)(Loss loss, const LossRun<T>& run, T* out);
  // out[i] = d loss(x[i], y[i]) / d x[i] * grad[i], or * grad[0] for every i
  void (*slopes)(Loss loss, const LossRun<T>& run, const T* grad, bool grad_each, T* out);
  // Does an element lie outside [0, 1], or is one NaN?
  bool (*leaves_unit)(const T* p, int64_t n);
};

namespace isa_baseline {
const LossKernels<float>& loss_float();
const LossKernels<double>& loss_double();
}  // namespace isa_baseline
namespace isa_avx2 {
const LossKernels<float>& loss_float();
const LossKernels<double>& loss_double();
}  // namespace isa_avx2
namespace isa_avx512 {
const LossKernels<float>& loss_float();
const LossKernels<double>& loss_double();
}  // namespace isa_avx512

}  // namespace undertow::cpu
