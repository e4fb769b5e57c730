// matmul.h: kernels for products of matrices and vectors.
#pragma once
#include "core/kernels/kernel.h"
#include "core/tensor/dtype/scalar.h"

namespace undertow::core {

// Where the matrices of a batch are in a tensor's memory: strides in elements, and the offset of the first matrix from
// the tensor's first element. A batch stride of 0 repeats the matrix.
struct MatrixStrides {
  int64_t batch = 0, row = 0, column = 0, offset = 0;
};
// `batch` products of an m by k and a k by n matrix.
struct ProductShape {
  int64_t batch, m, n, k;
  MatrixStrides a, b, c;
};

struct MatmulKernels {
  // c = alpha * a b + beta * c. If beta is 0, c is not read. All of the same dtype, not bool; c must not overlap a or
  // b.
  Kernel<"matmul", void(const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& shape,
                        const Scalar& alpha, const Scalar& beta)>
      multiply;
  // c = alpha * a b + beta * d for matrices of two dimensions; c is row-major, the others have any strides.
  Kernel<"addmm", void(const Tensor& c, const Tensor& d, const Tensor& a, const Tensor& b, const Scalar& alpha,
                       const Scalar& beta)>
      addmm;
  // out = the sum of a matrix's diagonal. Any dtype except bool; for integers, out is int64.
  Kernel<"trace", void(const Tensor& out, const Tensor& matrix)> trace;
  // out = the cross product of a and b, whose dimension d has size 3. All are row-major and of the same shape.
  Kernel<"linalg_cross", void(const Tensor& out, const Tensor& a, const Tensor& b, int64_t d)> cross;
};

}  // namespace undertow::core
