// conv.h: kernels for convolutions in one to three dimensions, their adjoints, im2col and col2im.
#pragma once
#include "core/kernels/conv_shape.h"
#include "core/kernels/kernel.h"

namespace undertow::core {

// Which tensor of a ConvShape is computed: y from x and w; x from y and w; w from x and y.
enum class ConvResult : uint8_t { Output, Image, Weight };

struct Convolution {
  ConvResult result;
  ConvShape shape;
  // Is the operand dense in memory with the channels innermost?
  bool a_channels_last, b_channels_last;
};

// The blocks that im2col reads from an image of (height, width) elements.
struct BlockGrid {
  int64_t height, width;
  int64_t kernel[2], dilation[2], padding[2], stride[2];
  int64_t down, across;  // number of blocks in each direction

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t blocks() const { return down * across; }
};

struct ConvKernels {
  // out: row-major, or dense channels-last. a and b: the other two tensors in the order above, in any layout. All have
  // the same dtype. bias has one element per channel of the result, or is undefined.
  Kernel<"convolution",
         void(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias, const Convolution& conv)>
      convolution;
  // Row-major: (planes, taps, blocks) from (planes, height, width), with zeros where a block reaches outside the image.
  Kernel<"im2col", void(const Tensor& columns, const Tensor& image, const BlockGrid& grid)> im2col;
  // The transpose of im2col: overlapping elements are added.
  Kernel<"col2im", void(const Tensor& image, const Tensor& columns, const BlockGrid& grid)> col2im;
};

}  // namespace undertow::core
