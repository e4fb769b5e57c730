// winograd.h: 3x3 convolutions of float images with fewer multiplications, if that pays off, and their two adjoints.
// Knows shapes and pointers; conv.h tries it first, and computes directly if it returns false.
#pragma once

#include "core/kernels/cpu/conv/conv.h"

namespace undertow::core::cpu {

// Note [Winograd]
// Winograd's F(2x2, 3x3) computes a square of two by two outputs from the four by four elements they read: the square
// and the weights are transformed (sums and differences; halves for weights), sixteen elementwise products are summed
// over channels, and the sums are transformed back (sums and differences): 16 multiplications instead of 36. Over all
// channels and tiles these are sixteen matrix products, one for each element of the transformed tile. The weight
// gradient transforms source and result, and sums over tiles. Results stay close to direct sums: no transform has a
// constant other than 1/2, and each output still depends only on its own nine inputs. Errors are up to about four times
// those of direct sums, relative to the largest of the nine (larger tiles, which save more, lose one to two digits). It
// must not overflow, or produce NaN from two infinities, where direct sums do not: so if any result is not finite,
// everything is computed again directly.

// These return true if they computed the result. They return false, and the result is undefined, if the shape gains
// nothing or a result was not finite. As conv_forward, conv_input and conv_weight of conv.h.
bool winograd_forward(const ConvShape& shape, const float* x, const float* w, const float* bias, float* y);
bool winograd_input(const ConvShape& shape, const float* y, const float* w, const float* bias, float* x);
bool winograd_weight(const ConvShape& shape, const float* x, const float* y, float* w);

// Is it a 3x3 convolution of 2-D images with stride 1, with enough channels and `outputs` to pay off?
bool winograd_pays_off(const ConvShape& shape, const int64_t (&outputs)[3]);

}  // namespace undertow::core::cpu
