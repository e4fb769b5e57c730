// scan.h: kernels for cumulative operations along one dimension.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

enum class Scan : uint8_t { Sum, Prod, LogSumExp };

struct ScanKernels {
  // out[i] = the reduction of in[0..i] along d; from_the_end: of in[i..n). Both are row-major, not empty, and of the
  // same shape and dtype. Every dtype except bool; LogSumExp only floating and complex dtypes.
  Kernel<"cumsum", void(const Tensor& out, const Tensor& in, int64_t d, Scan op, bool from_the_end)> scan;
  // The running maximum or minimum along d, and the index of the last element that set or equalled it; NaN propagates.
  // values and indices are row-major, in has any strides; real dtypes.
  Kernel<"cummax", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool max)> extremum;
};

}  // namespace undertow::core
