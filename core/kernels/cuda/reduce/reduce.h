// reduce.h: the CUDA backend's reduce kernels.
#pragma once
#include "core/kernels/reduce.h"

namespace undertow::core::cuda {

extern const ReduceKernels reduce_kernels;

}  // namespace undertow::core::cuda
