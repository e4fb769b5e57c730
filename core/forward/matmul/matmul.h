// matmul.h: from tensors to the strided pointers that the product kernels take.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::fwd {

// One strided matrix, or a batch of them: the first element, and strides in elements.
struct Matrices {
  char* data;
  int64_t batch_stride, row_stride, column_stride;
};
// c = alpha * a @ b + beta * c, `batch` times; c is m by n, k is what is summed over. `kernel` names the operator where
// the dtype is refused. With beta 0, c is not read.
void multiply(DType dtype, const char* kernel, int64_t batch, int64_t m, int64_t n, int64_t k, const Scalar& alpha,
              const Matrices& a, const Matrices& b, const Scalar& beta, const Matrices& c);

// self @ other for any ranks, without a copy or a view; undefined if the shapes or dtypes do not go together.
Tensor matmul_direct(const Tensor& self, const Tensor& other);

}  // namespace undertow::fwd
