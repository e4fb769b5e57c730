// winograd.h: 3x3 convolutions with fewer multiplications, where that pays: of float images, and their two adjoints.
// Knows shapes and pointers; conv.h calls it first, and computes directly what it refuses.
#pragma once

#include "core/kernels/cpu/conv/conv.h"

namespace undertow::cpu {

// Note [Winograd]
// Winograd's F(2x2, 3x3) computes a square of two by two outputs from the four by four elements they read: the square
// and the weights are transformed (sums and differences; halves for weights), sixteen products of elements are summed
// over channels, and the sums are transformed back (sums and differences): 16 multiplications instead of 36. Over all
// channels and tiles these are sixteen matrix products, one for each element of the transformed tile. The adjoint by
// the weight transforms source and result, and sums over tiles. It stays close to the direct sums: no transform has a
// constant but 1/2, and each output still hangs on its own nine inputs alone. Errors are up to some four times those of
// direct sums, relative to the largest of the nine (larger tiles, which save more, lose one to two digits). What it may
// not do is overflow, or make NaN of two infinities, where direct sums do not: so if any result is not finite, all is
// computed again directly.

// These compute and return true; or return false, and the result is undefined: where the shape gains nothing, or
// something was not finite. As conv_forward, conv_input and conv_weight of conv.h.
bool winograd_forward(const ConvShape& shape, const float* x, const float* w, const float* bias, float* y);
bool winograd_input(const ConvShape& shape, const float* y, const float* w, const float* bias, float* x);
bool winograd_weight(const ConvShape& shape, const float* x, const float* y, float* w);

// Is it a 3x3 convolution of flat images, without strides, with enough channels and `outputs` to gain?
bool winograd_gains(const ConvShape& shape, const int64_t (&outputs)[3]);

}  // namespace undertow::cpu
