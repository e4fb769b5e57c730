// pad.h: the CUDA backend's pad kernels.
#pragma once
#include "core/kernels/pad.h"

namespace undertow::core::cuda {

extern const PadKernels pad_kernels;

}  // namespace undertow::core::cuda
