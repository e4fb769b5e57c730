// loss_kernels.h: elementwise losses and their derivatives, compiled once per instruction set. Knows contiguous runs of
// float and double; elementwise.cpp divides tensors into runs and sums them.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"
#include "core/kernels/loss_kind.h"

namespace undertow::core::cpu {

template <class T>
struct LossRun {
  const T *x, *y, *weight;  // weight: only read by BceLogitsWeighted
  int64_t n;
  T limit;  // where SmoothL1 and Huber become linear
};

template <class T>
struct LossLoops {
  // out[i] = loss(x[i], y[i])
  void (*values)(LossKind loss, const LossRun<T>& run, T* out);
  // out[i] = d loss(x[i], y[i]) / d x[i] * grad[i], or * grad[0] for every i
  void (*gradients)(LossKind loss, const LossRun<T>& run, const T* grad, bool grad_each, T* out);
  // Is an element outside [0, 1], or NaN?
  bool (*outside_unit_interval)(const T* p, int64_t n);
};

UNDERTOW_FOR_EACH_ISA(const LossLoops<float>& loss_float(); const LossLoops<double>& loss_double();)

}  // namespace undertow::core::cpu
