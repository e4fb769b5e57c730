// resample.h: the CUDA backend's resample kernels.
#pragma once
#include "core/kernels/resample.h"

namespace undertow::core::cuda {

extern const ResampleKernels resample_kernels;

}  // namespace undertow::core::cuda
