// conv.h: convolutions of contiguous images in one to three dimensions, and their two adjoints.
// Knows shapes and pointers; nothing of tensors, dtypes, or which of the three somebody calls forward.
#pragma once

#include <cstdint>

namespace undertow::cpu {

// y[n, o, p] = sum over channels c and taps t of w[o, c, t] * x[n, c, p * stride + t * dilation - pad], zero outside x.
// x is (batch, in_channels, in...), w (out_channels, in_channels / groups, kernel...), y (batch, out_channels, out...),
// all row-major; an image of fewer dimensions has leading ones. `out` may be anything: more or fewer than the usual
// count.
struct ConvShape {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
};

// T: float, double or int64_t. A bias (null for none) is one number for each channel of the result. Bitwise the same
// result with any number of threads.
template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y);
// The adjoint by x, which is also the transposed convolution: x from y and w.
template <class T>
void conv_input(const ConvShape& shape, const T* y, const T* w, const T* bias, T* x);
// The adjoint by w: w from x and y. float and double alone.
template <class T>
void conv_weight(const ConvShape& shape, const T* x, const T* y, T* w);

}  // namespace undertow::cpu
