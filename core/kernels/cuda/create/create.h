// create.h: the CUDA backend's create kernels.
#pragma once
#include "core/kernels/create.h"

namespace undertow::core::cuda {

extern const CreateKernels create_kernels;

}  // namespace undertow::core::cuda
