// sort.h: the CUDA backend's sort kernels.
#pragma once
#include "core/kernels/sort.h"

namespace undertow::core::cuda {

extern const SortKernels sort_kernels;

}  // namespace undertow::core::cuda
