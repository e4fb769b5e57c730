// pointwise.h: the CUDA backend's pointwise kernels.
#pragma once
#include "core/kernels/pointwise.h"

namespace undertow::core::cuda {

extern const PointwiseKernels pointwise_kernels;

}  // namespace undertow::core::cuda
