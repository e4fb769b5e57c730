// scan.h: kernels of running results along one dimension.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

enum class Scan : uint8_t { Sum, Prod, LogSumExp };

struct ScanKernels {
  // out[i] = the result of in[0..i] along d; from_the_end: of in[i..n). Both row-major, of one shape and dtype, with
  // elements. Every dtype but bool, for LogSumExp the inexact ones.
  Kernel<"cumsum", void(const Tensor& out, const Tensor& in, int64_t d, Scan op, bool from_the_end)> scan;
  // The running maximum or minimum along d, and the index of the latest element that set or equalled it; a NaN stays.
  // values and indices are row-major, in has any strides; a real dtype.
  Kernel<"cummax", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool max)> extremum;
};

}  // namespace undertow
