// shape.h: kernels of operators on shapes. Views need none; copies are CopyKernels'.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

struct ShapeKernels {
  // out[offset + i . strides] += in[i] for every index i of `in`, which may be expanded; `out` is a row-major vector.
  // Addresses may repeat. The order of additions to one address does not depend on the number of threads.
  Kernel<"as_strided", void(const Tensor& out, const Tensor& in, IntSpan strides, int64_t offset)> strided_sum;
};

}  // namespace undertow
