// shape.h: the CUDA backend's shape kernels.
#pragma once
#include "core/kernels/shape.h"

namespace undertow::core::cuda {

extern const ShapeKernels shape_kernels;

}  // namespace undertow::core::cuda
