// recurrent.h: the CUDA backend's recurrent kernels.
#pragma once
#include "core/kernels/recurrent.h"

namespace undertow::core::cuda {

extern const RecurrentKernels recurrent_kernels;

}  // namespace undertow::core::cuda
