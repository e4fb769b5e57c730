// linalg.h: the CUDA backend's linalg kernels.
#pragma once
#include "core/kernels/linalg.h"

namespace undertow::core::cuda {

extern const LinalgKernels linalg_kernels;

}  // namespace undertow::core::cuda
