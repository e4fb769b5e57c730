// matmul.h: kernels of products of matrices and vectors.
#pragma once
#include "core/kernels/kernel.h"
#include "core/tensor/scalar.h"

namespace undertow {

// Where the matrices of a batch are in a tensor's memory: strides in elements, and the first one's distance from the
// tensor's first element. A stride of 0 repeats.
struct MatrixStrides {
  int64_t batch = 0, row = 0, column = 0, offset = 0;
};
// `batch` products of an m by k and a k by n matrix.
struct ProductShape {
  int64_t batch, m, n, k;
  MatrixStrides a, b, c;
};

struct MatmulKernels {
  // c = alpha * a b + beta * c. With beta 0, c is not read. One dtype, any but bool; c does not overlap a or b.
  Kernel<"matmul", void(const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& shape,
                        const Scalar& alpha, const Scalar& beta)>
      multiply;
  // c = alpha * a b + beta * d for matrices of two dimensions; c is row-major, the others have any strides.
  Kernel<"addmm", void(const Tensor& c, const Tensor& d, const Tensor& a, const Tensor& b, const Scalar& alpha,
                       const Scalar& beta)>
      addmm;
  // out = the sum of a matrix's diagonal. Of any dtype but bool; integers are summed in int64, which out is then.
  Kernel<"trace", void(const Tensor& out, const Tensor& matrix)> trace;
  // out = the vector product of a and b, whose dimension d has size 3. All row-major and of one shape.
  Kernel<"linalg_cross", void(const Tensor& out, const Tensor& a, const Tensor& b, int64_t d)> cross;
};

}  // namespace undertow
