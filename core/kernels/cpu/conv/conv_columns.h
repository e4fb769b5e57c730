// conv_columns.h: convolutions with many channels and few outputs, as products with the columns of im2col.
// Knows shapes and pointers; conv.h tries this before its own methods.
#pragma once

#include "core/kernels/conv.h"
#include "core/kernels/cpu/conv/conv.h"

namespace undertow::core::cpu {

// Note [Columns]
// A product reads every weight once per block of outputs. With few outputs, as in the last layers of a network or when
// the kernel covers the whole image, weights are most of what is read: packing them for boxes of single images would
// cost more than the sums. So the outputs of all images are placed side by side, the columns of im2col (one row per tap
// of each channel, one element per output) are stored, since they are small, and the product reads the weights in their
// original layout:
//   result (rows by outputs) = weights (rows by taps) * columns (taps by outputs), and its two adjoints.
// columns_pay_off decides what counts as few outputs.

// Must be called before the other functions. `result` is the tensor to compute.
bool columns_pay_off(const ConvShape& shape, ConvResult result);

// As conv_forward, conv_input and conv_weight of conv.h; T is float or double.
template <class T>
void columns_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y);
template <class T>
void columns_input(const ConvShape& shape, const T* y, const T* w, const T* bias, T* x);
template <class T>
void columns_weight(const ConvShape& shape, const T* x, const T* y, T* w);

}  // namespace undertow::core::cpu
