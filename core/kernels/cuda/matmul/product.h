// product.h: a product with its operands' addresses, and the ways to compute it.
#pragma once
#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/matmul.h"

namespace undertow::core::cuda {

// c = alpha * a b + beta * d, where d may be c. If beta is 0, d is not read.
struct Product {
  DType dtype;
  int64_t batch, m, n, k;
  char *c, *d, *a, *b;
  MatrixStrides c_strides, d_strides, a_strides, b_strides;  // the addresses include their offsets
  Scalar alpha, beta;
};

// By a kernel of our own: any dtype except bool, any strides.
void multiply_by_kernel(const Launcher& on, const Product& p);
// By cuBLASLt; returns false if it is not installed or cannot do it. Every matrix has a unit stride, see `has_leading`.
bool multiply_by_library(const Launcher& on, const Product& p);
// c = alpha * a b + bias, a row of n contiguous elements, in one call of cuBLASLt; returns false if that is impossible.
bool multiply_with_bias(const Launcher& on, const Product& p, const char* bias);

// Can a library read or write a rows by columns matrix with these strides, possibly as a transposed one?
bool has_leading(const MatrixStrides& s, int64_t rows, int64_t columns);

}  // namespace undertow::core::cuda
