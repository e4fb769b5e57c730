// matmul.h: derivatives and compositions of matrix products.
// Each function is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor adjoint_of(const Tensor& t);      // conjugate transpose of the last two dimensions
Tensor matrix_adjoint(const Tensor& m);  // the same of one matrix, by t() as in torch's formulas
Tensor mm_batched(const Tensor& a, const Tensor& b);
// Gradients of mm's factors; column-major if the factor is.
Tensor mm_left_grad(const Tensor& grad, const Tensor& mat2, bool column_major);
Tensor mm_right_grad(const Tensor& grad, const Tensor& mat1, bool column_major);
Tensor repeat_in_batch(const Tensor& matrix, const Tensor& batch);  // matrix expanded over the batch, without a copy
Tensor trace_backward(const Tensor& grad, IntSpan sizes);

// Tangents of products: a_t * b + a * b_t, where either tangent may be undefined.
Tensor mm_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t);
Tensor bmm_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t);
Tensor mv_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t);
Tensor dot_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t);
Tensor vdot_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t);
Tensor outer_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t);
Tensor addbmm_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t);
Tensor cross_tangent(const Tensor& a, const Tensor& a_t, const Tensor& b, const Tensor& b_t, int64_t dim);
// beta * self_t + alpha * product_t, where either may be undefined.
Tensor added_tangent(const Tensor& self_t, const Scalar& beta, const Tensor& product_t, const Scalar& alpha);

Tensor matmul_composite(const Tensor& self, const Tensor& other);
Tensor outer_composite(const Tensor& self, const Tensor& vec2);
Tensor inner_composite(const Tensor& self, const Tensor& other);
Tensor tensordot_composite(const Tensor& self, const Tensor& other, IntSpan dims_self, IntSpan dims_other);
Tensor kron_composite(const Tensor& self, const Tensor& other);
Tensor linear_composite(const Tensor& input, const Tensor& weight, const Tensor& bias);
Tensor bilinear_composite(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias);
Tensor cross_composite(const Tensor& self, const Tensor& other, std::optional<int64_t> dim);
Tensor vecdot_composite(const Tensor& x, const Tensor& y, int64_t dim);
Tensor multi_dot_composite(TensorSpan tensors);
Tensor matrix_power_composite(const Tensor& self, int64_t n);

}  // namespace undertow::core::ops
