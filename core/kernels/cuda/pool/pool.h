// pool.h: the CUDA backend's pool kernels.
#pragma once
#include "core/kernels/pool.h"

namespace undertow::core::cuda {

extern const PoolKernels pool_kernels;

}  // namespace undertow::core::cuda
