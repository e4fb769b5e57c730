// fold.h: reduces a tensor over any set of dimensions with one operation, for the CPU's kernels. See ReduceKernels.
#pragma once
#include "core/kernels/reduce.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

// out is row-major, with the kept sizes and dtype fold_dtype(op, in.dtype()); in is not empty and has any strides.
void fold(const Tensor& out, const Tensor& in, uint64_t mask, Fold op);

}  // namespace undertow::core::cpu
