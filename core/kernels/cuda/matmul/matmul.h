// matmul.h: the CUDA backend's matmul kernels, also for the other families of this backend.
#pragma once
#include "core/kernels/matmul.h"

namespace undertow::core::cuda {

extern const MatmulKernels matmul_kernels;
// As MatmulKernels::multiply.
void multiply(const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& shape, const Scalar& alpha,
              const Scalar& beta);

}  // namespace undertow::core::cuda
