// reduce_kernels.h: reduces a rectangle of elements with one operation, selected by dtype and instruction set.
// Knows pointers and byte strides; fold.h divides a tensor into rectangles.
#pragma once

#include "core/kernels/cpu/isa.h"
#include "core/kernels/fold.h"
#include "core/tensor/dtype/dtype.h"

namespace undertow::core::cpu {

using core::Fold;

struct FoldFn {
  // acc[j] = reduction over i < n of in[j * out_stride + i * stride], for j < outs. Strides are in bytes, n >= 1; acc
  // is overwritten. Fast if stride is one element (rows) or out_stride is (columns).
  void (*fold)(const char* in, int64_t outs, int64_t out_stride, int64_t n, int64_t stride, char* acc) = nullptr;
  // acc[j] = acc[j] combined with more[j].
  void (*join)(char* acc, const char* more, int64_t outs) = nullptr;
  DType acc = DType::Float32;  // the dtype of the accumulators
};

// fold is null if the operation has no kernel for that dtype. Among the arithmetic operations, half dtypes have at most
// the sum, into floats; otherwise they are converted to float first. Sums and products of integers accumulate in int64;
// complex numbers are reduced as pairs of reals.
FoldFn fold_fn(Fold op, DType in);

UNDERTOW_FOR_EACH_ISA(FoldFn real_fold(Fold op, DType in); FoldFn int_fold(Fold op, DType in);
                      // The sum of one row of n >= 1 floats, as fold_fn(Fold::Sum, DType::Float32) adds it.
                      float sum_row(const float* in, int64_t n);)

}  // namespace undertow::core::cpu
