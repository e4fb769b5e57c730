// distance.h: the CUDA backend's distance kernels.
#pragma once
#include "core/kernels/distance.h"

namespace undertow::core::cuda {

extern const DistanceKernels distance_kernels;

}  // namespace undertow::core::cuda
