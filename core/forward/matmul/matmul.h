// matmul.h: products of matrices and vectors, for the other families. Knows no graph.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/matmul.h"

namespace undertow::core::fwd {

// c = alpha * a b + beta * c on c's backend. `name` is the operator's name, for the error if the dtype is bool.
void multiply(const char* name, const Tensor& c, const Tensor& a, const Tensor& b, const ProductShape& shape,
              const Scalar& alpha, const Scalar& beta);

// self @ other for any ranks, without a copy or a view; undefined if the shapes or dtypes are incompatible.
Tensor matmul_direct(const Tensor& self, const Tensor& other);

}  // namespace undertow::core::fwd
