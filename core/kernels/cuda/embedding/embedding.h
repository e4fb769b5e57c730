// embedding.h: the CUDA backend's embedding kernels.
#pragma once
#include "core/kernels/embedding.h"

namespace undertow::core::cuda {

extern const EmbeddingKernels embedding_kernels;

}  // namespace undertow::core::cuda
