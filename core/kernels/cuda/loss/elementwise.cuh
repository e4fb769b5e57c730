// elementwise.cuh: elementwise losses, their sums and their derivatives. The formulas are those of
// kernels/cpu/loss/loss.isa.cpp.
#pragma once
#include "device/block_reduce.cuh"
#include "device/errors.cuh"
#include "device/real_math.cuh"
#include "device/strided.cuh"
#include "loss/elementwise_params.h"

namespace undertow {

// In the order of the host's LossKind.
enum Loss { Squared, SmoothL1, Huber, SoftMargin, Bce, BceLogits, BceLogitsWeighted };

template <class T>
UT_DEVICE T softplus(T x) {
  return greatest_of(x, T(0)) + real_log1p(real_exp(-real_fabs(x)));
}
template <class T>
UT_DEVICE T sigmoid(T x) {
  const T e = real_exp(-real_fabs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
// NaN stays NaN.
template <class T>
UT_DEVICE T at_least(T x, T least) {
  return x < least ? least : x;
}

template <Loss loss, class T>
UT_DEVICE T loss_value(T x, T y, T w, T limit) {
  if constexpr (loss == Squared) return (x - y) * (x - y);
  const T z = real_fabs(x - y);
  if constexpr (loss == SmoothL1) return z < limit ? T(0.5) * z * z / limit : z - T(0.5) * limit;
  if constexpr (loss == Huber) return z <= limit ? T(0.5) * z * z : limit * (z - T(0.5) * limit);
  if constexpr (loss == SoftMargin) return softplus(-y * x);
  // Logarithms are clamped at -100, as in torch.
  if constexpr (loss == Bce)
    return (y - T(1)) * at_least(real_log1p(-x), T(-100)) - y * at_least(real_log(x), T(-100));
  if constexpr (loss == BceLogits) return (T(1) - y) * x + softplus(-x);
  if constexpr (loss == BceLogitsWeighted) return (T(1) - y) * x + ((w - T(1)) * y + T(1)) * softplus(-x);
}

template <Loss loss, class T>
UT_DEVICE T loss_slope(T x, T y, T w, T limit) {
  const T z = x - y;
  if constexpr (loss == Squared) return T(2) * z;
  if constexpr (loss == SmoothL1) return z >= limit ? T(1) : z <= -limit ? T(-1) : z / limit;
  if constexpr (loss == Huber) return z >= limit ? limit : z <= -limit ? -limit : z;
  if constexpr (loss == SoftMargin) return -y * sigmoid(-y * x);
  // The denominator is kept away from zero.
  if constexpr (loss == Bce) return z / at_least((T(1) - x) * x, T(1e-12));
  if constexpr (loss == BceLogits) return sigmoid(x) - y;
  if constexpr (loss == BceLogitsWeighted) return ((w - T(1)) * y + T(1)) * sigmoid(x) - w * y;
}

// Bce is defined for numbers in [0, 1].
template <Loss loss, class T>
UT_DEVICE void check_unit(const UnitCheck& check, T x, T y) {
  if constexpr (loss == Bce) {
    if (!(x >= T(0) && x <= T(1)))
      report_error(check.slot, check.raise, __double_as_longlong(static_cast<double>(x)), 0, 0);
    else if (!(y >= T(0) && y <= T(1)))
      report_error(check.slot, check.raise, __double_as_longlong(static_cast<double>(y)), 1, 0);
  }
}

}  // namespace undertow

// Operands: out, x, y, and the weight of a weighted loss.
template <class T, Loss loss>
__global__ void loss_values(LossOperands at, int64_t n, T limit, UnitCheck check, StridedLayout layout) {
  constexpr int operands = loss == BceLogitsWeighted ? 4 : 3;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t o[operands];
    offsets_of<operands>(layout, i, o);
    const T x = *reinterpret_cast<const T*>(at.p[1] + o[1]), y = *reinterpret_cast<const T*>(at.p[2] + o[2]);
    const T w = operands == 4 ? *reinterpret_cast<const T*>(at.p[3] + o[operands - 1]) : T(1);
    check_unit<loss>(check, x, y);
    *reinterpret_cast<T*>(at.p[0] + o[0]) = loss_value<loss>(x, y, w, limit);
  }
}

// Operands: out, x, y, the weight of a weighted loss, and the gradients if there is one per element; otherwise the one
// gradient is in `shared`, and is divided by `count`.
template <class T, Loss loss, bool each>
__global__ void loss_gradients(LossOperands at, int64_t n, T limit, const T* shared, T count, StridedLayout layout) {
  constexpr bool weighted = loss == BceLogitsWeighted;
  constexpr int operands = 3 + weighted + each;
  const T one = each ? T(0) : *shared / count;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t o[operands];
    offsets_of<operands>(layout, i, o);
    const T x = *reinterpret_cast<const T*>(at.p[1] + o[1]), y = *reinterpret_cast<const T*>(at.p[2] + o[2]);
    const T w = weighted ? *reinterpret_cast<const T*>(at.p[3] + o[weighted ? 3 : 0]) : T(1);
    const T g = each ? *reinterpret_cast<const T*>(at.p[operands - 1] + o[operands - 1]) : one;
    *reinterpret_cast<T*>(at.p[0] + o[0]) = loss_slope<loss>(x, y, w, limit) * g;
  }
}

// Each block's sum. With a single block, `out` gets the sum over `count`.
template <class T, Loss loss>
__global__ void loss_sums(T* out, double* parts, const T* x, const T* y, int64_t n, T limit, double count,
                          UnitCheck check) {
  double sum = 0;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    check_unit<loss>(check, x[i], y[i]);
    sum += static_cast<double>(loss_value<loss>(x[i], y[i], T(1), limit));
  }
  sum = block_reduce(sum, 0.0, SumOf());
  if (threadIdx.x) return;
  if (gridDim.x == 1)
    *out = static_cast<T>(sum / count);
  else
    parts[blockIdx.x] = sum;
}

// Adds up the blocks' sums, in order; one block.
template <class T>
__global__ void add_up_blocks(T* out, const double* parts, int64_t n, double count) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += parts[i];
  sum = block_reduce(sum, 0.0, SumOf());
  if (threadIdx.x == 0) *out = static_cast<T>(sum / count);
}
