// normalization_kernels.h: the loops of layer, batch, group and root-mean-square normalisation, forward and backward,
// compiled once per instruction set. Knows lines, segments and columns of float or double; not shapes.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// A line has one weight per element, a segment one for all its elements, a block of columns one per column. Weights and
// biases may be null, meaning ones and zeros.
template <class T>
struct NormalizationLoops {
  // The mean of n elements, and the sum of squared deviations from it.
  void (*moments)(const T* x, int64_t n, double* mean, double* squares);
  // out = (x - mean) * rstd * weight + bias for `lines` contiguous lines of n; writes each line's mean and rstd.
  // Without `centred` the mean is taken to be zero and is not written.
  void (*lines)(const T* x, const T* weight, const T* bias, T* out, T* mean, T* rstd, int64_t lines, int64_t n,
                double eps, bool centred);
  // The gradients of `lines`: writes `to` and adds to weight_sums and bias_sums, each unless null.
  void (*lines_backward)(const T* grad, const T* x, const T* mean, const T* rstd, const T* weight, T* to,
                         T* weight_sums, T* bias_sums, int64_t lines, int64_t n, bool centred);
  // out = (x - mean) * scale + bias
  void (*segment)(const T* x, T mean, T scale, T bias, T* out, int64_t n);
  // Sums of grad and of grad * (x - mean).
  void (*segment_sums)(const T* grad, const T* x, T mean, int64_t n, double* sum, double* dot);
  // to = a * grad + b * (x - mean) + c
  void (*segment_backward)(const T* grad, const T* x, T mean, T a, T b, T c, T* to, int64_t n);
  // The same four operations for `rows` rows of `width` columns, with one parameter of each kind per column.
  void (*columns_moments)(const T* x, int64_t rows, int64_t width, double* mean, double* squares);
  void (*columns)(const T* x, const T* mean, const T* scale, const T* bias, T* out, int64_t rows, int64_t width);
  void (*columns_sums)(const T* grad, const T* x, const T* mean, int64_t rows, int64_t width, double* sum, double* dot);
  void (*columns_backward)(const T* grad, const T* x, const T* mean, const T* a, const T* b, const T* c, T* to,
                           int64_t rows, int64_t width);
};

UNDERTOW_FOR_EACH_ISA(const NormalizationLoops<float>& normalization_float();
                      const NormalizationLoops<double>& normalization_double();)

// The loops of the selected instruction set.
template <class T>
const NormalizationLoops<T>& normalization_loops() {
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(normalization_float());
  else
    return UNDERTOW_CHOOSE_ISA(normalization_double());
}

}  // namespace undertow::core::cpu
