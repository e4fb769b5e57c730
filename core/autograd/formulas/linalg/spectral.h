// spectral.h: derivatives and compositions of orthogonal factors, eigenvalues and singular values:
// ops/linalg_spectral.toml. Each function is differentiable: it calls only operators. If an operator has several
// results, their gradients may be undefined.
#pragma once
#include <span>

#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor qr_backward(std::span<Tensor> grads, const Tensor& Q, const Tensor& R, std::string_view mode);
Tensor qr_jvp_q(const Tensor& A_t, const Tensor& Q, const Tensor& R, std::string_view mode);
Tensor qr_jvp_r(const Tensor& A_t, const Tensor& Q, const Tensor& R, std::string_view mode);
Tensor householder_product_composite(const Tensor& input, const Tensor& tau);
Tensor ormqr_composite(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transposed);

Tensor eigh_backward(std::span<Tensor> grads, const Tensor& values, const Tensor& vectors);
Tensor eigh_values_jvp(const Tensor& A_t, const Tensor& vectors);
Tensor eigh_vectors_jvp(const Tensor& A_t, const Tensor& values, const Tensor& vectors);
Tensor eigvalsh_composite(const Tensor& self, std::string_view uplo);
Tensor eig_backward(std::span<Tensor> grads, const Tensor& values, const Tensor& vectors);
Tensor eig_values_jvp(const Tensor& A_t, const Tensor& vectors);
Tensor eig_vectors_jvp(const Tensor& A_t, const Tensor& values, const Tensor& vectors);
Tensor eigvals_composite(const Tensor& self);

Tensor svd_backward(std::span<Tensor> grads, const Tensor& U, const Tensor& S, const Tensor& Vh);
Tensor svd_left_jvp(const Tensor& A_t, const Tensor& U, const Tensor& S, const Tensor& Vh);
Tensor svd_values_jvp(const Tensor& A_t, const Tensor& U, const Tensor& S, const Tensor& Vh);
Tensor svd_right_jvp(const Tensor& A_t, const Tensor& U, const Tensor& S, const Tensor& Vh);
Tensor svdvals_composite(const Tensor& A, std::optional<std::string_view> driver);
std::tuple<Tensor, Tensor, Tensor> svd_composite(const Tensor& self, bool some, bool compute_uv);

Tensor number_of(std::optional<double> v);  // as a tensor; undefined for nullopt
Tensor pinv_composite(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian);
Tensor pinv_backward(const Tensor& grad, const Tensor& pinv, const Tensor& A);
Tensor pinv_jvp(const Tensor& A_t, const Tensor& pinv, const Tensor& A);
Tensor matrix_rank_composite(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian);
Tensor cond_composite(const Tensor& self, const std::optional<Scalar>& p);
Tensor cond_composite(const Tensor& self, std::string_view p);
Tensor lstsq_backward_matrix(std::span<Tensor> grads, const Tensor& A, const Tensor& B, const Tensor& X);
Tensor lstsq_backward_rhs(std::span<Tensor> grads, const Tensor& A, const Tensor& B, const Tensor& X);
Tensor lstsq_jvp(const Tensor& A, const Tensor& A_t, const Tensor& B, const Tensor& B_t, const Tensor& X);
Tensor matrix_exp_differential(const Tensor& A, const Tensor& direction);  // d exp(A) along direction

}  // namespace undertow::core::ops
