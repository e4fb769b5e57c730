// shape.h: kernels for operators on shapes. Views need none; copies use CopyKernels.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

struct ShapeKernels {
  // out[offset + i . strides] += in[i] for every index i of `in`, which may be expanded; `out` is a row-major vector.
  // Offsets may repeat. The order of additions to one element does not depend on the number of threads.
  Kernel<"as_strided", void(const Tensor& out, const Tensor& in, IntSpan strides, int64_t offset)> strided_sum;
};

}  // namespace undertow::core
