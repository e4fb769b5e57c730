// conv.h: convolutions of contiguous images in one to three dimensions, and their two adjoints.
// Knows shapes and pointers; nothing of tensors, dtypes, or which of the three somebody calls forward.
#pragma once

#include "core/kernels/conv_shape.h"

namespace undertow::cpu {

// All tensors are row-major. T: float, double or int64_t. A bias (null for none) is one number for each channel of the
// result. Bitwise the same result with any number of threads.
template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y);
// The adjoint by x, which is also the transposed convolution: x from y and w.
template <class T>
void conv_input(const ConvShape& shape, const T* y, const T* w, const T* bias, T* x);
// The adjoint by w: w from x and y. float and double alone.
template <class T>
void conv_weight(const ConvShape& shape, const T* x, const T* y, T* w);

}  // namespace undertow::cpu
