// conv.h: kernels of convolutions in one to three dimensions, of their adjoints, and of sliding blocks.
#pragma once
#include "core/kernels/conv_shape.h"
#include "core/kernels/kernel.h"

namespace undertow {

// Which of a ConvShape's three is asked for: y from x and w; x from y and w; w from x and y.
enum class ConvResult : uint8_t { Output, Image, Weight };

struct Convolution {
  ConvResult result;
  ConvShape shape;
  // Are the elements of an operand dense in memory with the channels innermost?
  bool a_channels_last, b_channels_last;
};

// Blocks of an image of (height, width) elements, as im2col takes them.
struct BlockGrid {
  int64_t height, width;
  int64_t kernel[2], dilation[2], padding[2], stride[2];
  int64_t down, across;  // how many blocks there are

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t blocks() const { return down * across; }
};

struct ConvKernels {
  // out: row-major, or dense with its channels last. a and b: the two others in the order above, in any layouts. All of
  // one dtype. A bias, undefined for none, is one number for each channel of the result.
  Kernel<"convolution",
         void(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias, const Convolution& conv)>
      convolution;
  // Row-major: (planes, taps, blocks) from (planes, height, width), zeros where a block reaches outside.
  Kernel<"im2col", void(const Tensor& columns, const Tensor& image, const BlockGrid& grid)> im2col;
  // Its transpose: what blocks share is added.
  Kernel<"col2im", void(const Tensor& image, const Tensor& columns, const BlockGrid& grid)> col2im;
};

}  // namespace undertow
