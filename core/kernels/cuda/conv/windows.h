// windows.h: launches of the kernels that turn images into columns of windows, and back. Offsets are in elements.
#pragma once
#include <cstdint>

#include "core/kernels/cuda/conv/windows_params.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cuda {

void gather_windows(const Tensor& columns, const Tensor& image, int64_t image_offset, const WindowParams& p);
// bias: one element per channel, contiguous; or undefined.
void fold_windows(const Tensor& image, int64_t image_offset, const Tensor& columns, const Tensor& bias,
                  const WindowParams& p);

}  // namespace undertow::core::cuda
