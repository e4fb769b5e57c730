// conv_shape.h: the sizes of a convolution. In its own file because sources compiled per instruction set include it.
#pragma once
#include <cstdint>

namespace undertow::core {

// y[n, o, p] = sum over channels c and taps t of w[o, c, t] * x[n, c, p * stride + t * dilation - pad], zero outside x.
// x is (batch, in_channels, in...), w (out_channels, in_channels / groups, kernel...), y (batch, out_channels, out...);
// an image with fewer than three spatial dimensions gets leading sizes of 1. `out` need not be the usual output size;
// it may be smaller or larger.
struct ConvShape {
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[3], out[3], kernel[3], stride[3], pad[3], dilation[3];
};

}  // namespace undertow::core
