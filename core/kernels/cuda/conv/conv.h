// conv.h: the CUDA backend's convolutions.
#pragma once
#include "core/kernels/conv.h"

namespace undertow::core::cuda {

extern const ConvKernels conv_kernels;

// out = the convolution, without bias, by cuDNN; returns false if it is not installed or cannot do it.
bool convolve_by_library(const Tensor& out, const Tensor& a, const Tensor& b, const Convolution& conv);
// The same by products with a matrix of the image's windows; any dtype, with bias.
void convolve_by_columns(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias,
                         const Convolution& conv);

}  // namespace undertow::core::cuda
