// copy.h: copies of tensors, for the CPU's other kernels. Conj and neg bits are the caller's.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::cpu {

// dst[...] = src, of one shape, in any layouts and dtypes.
void copy(const Tensor& dst, const Tensor& src);
// Row-major: t itself if it is, else a copy.
Tensor contiguous(const Tensor& t);
// The same of a given dtype.
Tensor contiguous_as(const Tensor& t, DType dtype);
// One value everywhere, also in an expanded tensor.
void fill(const Tensor& dst, const Scalar& value);
// Zeros all bytes of a row-major tensor.
void zero(const Tensor& dst);
// See CopyKernels.
void conj_neg_in_place(const Tensor& t, bool conj, bool neg);
Scalar item(const Tensor& t);
void convert_checked(const Tensor& dst, const Tensor& src, void (*check)(const Scalar& value, DType dtype));

}  // namespace undertow::cpu
