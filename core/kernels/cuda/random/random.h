// random.h: the CUDA backend's random kernels.
#pragma once
#include <memory>

#include "core/kernels/random.h"

namespace undertow::core::cuda {

extern const RandomKernels random_kernels;
std::unique_ptr<RandomStream> new_random_stream(Device device);

}  // namespace undertow::core::cuda
