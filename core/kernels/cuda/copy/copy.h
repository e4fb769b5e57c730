// copy.h: copies and fills of CUDA tensors, for the other families of this backend.
#pragma once
#include "core/kernels/copy.h"
#include "core/kernels/cuda/compile/kernel.h"

namespace undertow::core::cuda {

extern const CopyKernels copy_kernels;
// dst = src, of the same shape, in any layout and dtype, both on this device.
void copy(const Tensor& dst, const Tensor& src);
// The same for elements of one width at given byte strides, which may be negative in the source. Sizes and strides are
// outermost first.
void move_elements(const Launcher& on, char* to, const char* from, const Dims& sizes, const Dims& to_strides,
                   const Dims& from_strides, DType dtype);
// t itself if it is row-major, else a row-major copy; with a dtype, converted to it.
Tensor contiguous(const Tensor& t);
Tensor contiguous_as(const Tensor& t, DType dtype);
// Zeros all bytes of a row-major tensor.
void zero(const Tensor& dst);

}  // namespace undertow::core::cuda
