// join.h: the CUDA backend's join kernels.
#pragma once
#include "core/kernels/join.h"

namespace undertow::core::cuda {

extern const JoinKernels join_kernels;

}  // namespace undertow::core::cuda
