// conv.cpp: see conv.h: chooses between cuDNN and products, and the table.
#include "core/kernels/cuda/conv/conv.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/conv/windows.h"
#include "core/kernels/cuda/copy/copy.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate gather_kernel("conv/windows.cuh", "gather_windows");
KernelTemplate fold_kernel("conv/windows.cuh", "fold_windows");
KernelTemplate bias_kernel("conv/windows.cuh", "add_channel_bias");

LaunchShape shape_for(int64_t n) { return {.blocks = std::min<int64_t>(blocks_for(n, 256), 1 << 20)}; }

// out is dense, row-major or channels-last.
void add_bias(const Tensor& out, const Tensor& bias) {
  Tensor values = contiguous(bias);
  int64_t n = out.numel(), channels = out.size(1), width = std::min<int64_t>(16 / out.itemsize(), 8),
          inner = out.is_contiguous() ? n / (out.size(0) * channels) : 1;
  if (n % width || reinterpret_cast<uintptr_t>(out.data()) % 16) width = 1;
  Launcher(out).run(bias_kernel, {out.dtype(), width}, shape_for(n / width), out.data(), values.data(), n, channels,
                    inner);
}

void convolution(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias, const Convolution& conv) {
  if (out.numel() == 0) return;
  if (!convolve_by_library(out, a, b, conv)) return convolve_by_columns(out, a, b, bias, conv);
  if (bias.defined()) add_bias(out, bias);
}

WindowParams params_of(const BlockGrid& g, int64_t planes) {
  return {planes,
          1,
          g.height * g.width,
          0,
          {0, g.width, 1},
          {1, g.height, g.width},
          {1, g.down, g.across},
          {1, g.kernel[0], g.kernel[1]},
          {1, g.stride[0], g.stride[1]},
          {0, g.padding[0], g.padding[1]},
          {1, g.dilation[0], g.dilation[1]}};
}

void im2col(const Tensor& columns, const Tensor& image, const BlockGrid& grid) {
  gather_windows(columns, image, 0, params_of(grid, image.numel() / (grid.height * grid.width)));
}
void col2im(const Tensor& image, const Tensor& columns, const BlockGrid& grid) {
  fold_windows(image, 0, columns, {}, params_of(grid, image.numel() / (grid.height * grid.width)));
}

}  // namespace

void gather_windows(const Tensor& columns, const Tensor& image, int64_t image_offset, const WindowParams& p) {
  int64_t n = p.count * p.channels;
  for (int d = 0; d < 3; d++) n *= p.kernel[d] * p.out[d];
  Launcher(columns).run(gather_kernel, {image.dtype()}, shape_for(n), columns.data(),
                        image.data() + image_offset * image.itemsize(), p);
}

void fold_windows(const Tensor& image, int64_t image_offset, const Tensor& columns, const Tensor& bias,
                  const WindowParams& p) {
  int64_t n = p.count * p.channels;
  for (int d = 0; d < 3; d++) n *= p.in[d];
  char* add = bias.defined() ? bias.data() : nullptr;
  Launcher(image).run(fold_kernel, {image.dtype()}, shape_for(n), image.data() + image_offset * image.itemsize(),
                      columns.data(), add, p);
}

const ConvKernels conv_kernels = {.convolution = convolution, .im2col = im2col, .col2im = col2im};

}  // namespace undertow::core::cuda
