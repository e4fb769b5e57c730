// softmax.h: the CUDA backend's softmax kernels.
#pragma once
#include "core/kernels/softmax.h"

namespace undertow::core::cuda {

extern const SoftmaxKernels softmax_kernels;

}  // namespace undertow::core::cuda
