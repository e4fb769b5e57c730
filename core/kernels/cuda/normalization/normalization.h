// normalization.h: the CUDA backend's normalization kernels.
#pragma once
#include "core/kernels/normalization.h"

namespace undertow::core::cuda {

extern const NormalizationKernels normalization_kernels;

}  // namespace undertow::core::cuda
