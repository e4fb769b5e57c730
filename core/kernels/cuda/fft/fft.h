// fft.h: the CUDA backend's fft kernels.
#pragma once
#include "core/kernels/fft.h"

namespace undertow::core::cuda {

extern const FftKernels fft_kernels;

}  // namespace undertow::core::cuda
