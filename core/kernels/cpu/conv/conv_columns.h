// conv_columns.h: convolutions of many channels and few outputs, as products with the columns of im2col.
// Knows shapes and pointers; conv.h calls it before its own ways, which it then replaces.
#pragma once

#include "core/kernels/cpu/conv/conv.h"

namespace undertow::cpu {

// Note [Columns]
// A product reads every weight once for each block of outputs. Where outputs are few, as in the last layers of a
// network or where the kernel is the whole image, weights are most of what is read: packing them for boxes of single
// images would cost more than the sums. So the outputs of all images are put side by side, the columns of im2col (for
// each tap of each channel a row, one element an output) are written out, small as they are, and the product takes the
// weights where they lie:
//   result (rows by outputs) = weights (rows by taps) * columns (taps by outputs), and its two adjoints.
// Few: see columns_gain.

// Must be asked before the others: which of the three is wanted.
enum class Reading { Result, Image, Weight };
bool columns_gain(const ConvShape& shape, Reading reading);

// As conv_forward, conv_input and conv_weight of conv.h; T is float or double.
template <class T>
void columns_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y);
template <class T>
void columns_input(const ConvShape& shape, const T* y, const T* w, const T* bias, T* x);
template <class T>
void columns_weight(const ConvShape& shape, const T* x, const T* y, T* w);

}  // namespace undertow::cpu
