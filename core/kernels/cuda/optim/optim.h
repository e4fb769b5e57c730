// optim.h: the CUDA backend's optim kernels.
#pragma once
#include "core/kernels/optim.h"

namespace undertow::core::cuda {

extern const OptimKernels optim_kernels;

}  // namespace undertow::core::cuda
