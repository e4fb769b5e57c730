// index.h: the CUDA backend's index kernels.
#pragma once
#include "core/kernels/index.h"

namespace undertow::core::cuda {

extern const IndexKernels index_kernels;

}  // namespace undertow::core::cuda
