// fold.h: sliding blocks as columns, for the table in convolution.cpp. See ConvKernels.
#pragma once
#include "core/kernels/conv.h"

namespace undertow::core::cpu {

void im2col(const Tensor& columns, const Tensor& image, const BlockGrid& grid);
void col2im(const Tensor& image, const Tensor& columns, const BlockGrid& grid);

}  // namespace undertow::core::cpu
