// scan.h: the CUDA backend's scan kernels.
#pragma once
#include "core/kernels/scan.h"

namespace undertow::core::cuda {

extern const ScanKernels scan_kernels;

}  // namespace undertow::core::cuda
