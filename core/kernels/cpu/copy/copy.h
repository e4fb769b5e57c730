// copy.h: copies of tensors, for the CPU's other kernels. The caller handles conj and neg bits.
#pragma once
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

// dst[...] = src, of the same shape, in any layout and dtype.
void copy(const Tensor& dst, const Tensor& src);
// Converts a run of elements; operands as in ElementwiseIter. Not for storage dtypes.
using ConvertLoop = void (*)(char* const* p, const int64_t* strides, int64_t n);
ConvertLoop convert_loop_of(DType to, DType from);
// Output and input of iter; one of the dtypes at least is a storage dtype, and they differ.
void copy_storage(const ElementwiseIter& iter, DType to, DType from);
// t itself if it is row-major, else a row-major copy.
Tensor contiguous(const Tensor& t);
// The same with a given dtype.
Tensor contiguous_as(const Tensor& t, DType dtype);
// Writes one value to all elements; the tensor may be expanded.
void fill(const Tensor& dst, const Scalar& value);
// Zeros all bytes of a row-major tensor.
void zero(const Tensor& dst);
// See CopyKernels.
void conj_neg_in_place(const Tensor& t, bool conj, bool neg);
Scalar item(const Tensor& t);
void convert_checked(const Tensor& dst, const Tensor& src, void (*check)(const Scalar& value, DType dtype));

}  // namespace undertow::core::cpu
