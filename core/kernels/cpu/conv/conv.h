// conv.h: convolutions of contiguous images in one to three dimensions, and their two adjoints.
// Knows shapes and pointers; nothing about tensors, dtypes, or which of the three is the forward pass.
#pragma once

#include "core/kernels/conv_shape.h"

namespace undertow::core::cpu {

// All tensors are row-major. T: float, double or int64_t. bias (null for none) has one element per channel of the
// result. The result is bitwise the same for any number of threads.
template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y);
// The adjoint with respect to x, which is also the transposed convolution: x from y and w.
template <class T>
void conv_input(const ConvShape& shape, const T* y, const T* w, const T* bias, T* x);
// The adjoint with respect to w: w from x and y. float and double only.
template <class T>
void conv_weight(const ConvShape& shape, const T* x, const T* y, T* w);

}  // namespace undertow::core::cpu
