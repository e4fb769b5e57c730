// loss.h: the CUDA backend's loss kernels.
#pragma once
#include "core/kernels/loss.h"

namespace undertow::core::cuda {

extern const LossKernels loss_kernels;

}  // namespace undertow::core::cuda
