// solve.h: derivatives and compositions of linear systems: ops/linalg_solve.toml, and two operators of ops/matmul.toml.
// Each function is differentiable: it calls only operators. Where two arguments have tangents, either may be undefined.
#pragma once
#include <span>

#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor diagonal_matrix(const Tensor& values);  // diag_embed
Tensor minus_adjoint(const Tensor& t);         // t - t^H

Tensor lu_factor_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots);
Tensor lu_factor_jvp(const Tensor& A_t, const Tensor& LU, const Tensor& pivots);
std::tuple<Tensor, Tensor> lu_factor_composite(const Tensor& A, bool pivot);
std::tuple<Tensor, Tensor> ldl_factor_composite(const Tensor& self, bool hermitian);
std::tuple<Tensor, Tensor, Tensor> lu_composite(const Tensor& A, bool pivot);
Tensor lu_unpack_backward(std::span<Tensor> grads, IntSpan sizes);
Tensor lu_unpack_lower(const Tensor& t, bool unpack_data);
Tensor lu_unpack_upper(const Tensor& t, bool unpack_data);
Tensor lu_solve_composite(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint);

Tensor solve_unchecked(const Tensor& A, const Tensor& B, bool left);  // infinities for a singular A; does not raise
Tensor solve_backward_matrix(const Tensor& grad, const Tensor& A, IntSpan b_sizes, const Tensor& result, bool left);
Tensor solve_jvp(const Tensor& A, const Tensor& A_t, const Tensor& B, const Tensor& B_t, const Tensor& result,
                 bool left);
Tensor solve_composite(const Tensor& A, const Tensor& B, bool left);
Tensor triangular_backward_matrix(const Tensor& grad, const Tensor& A, const Tensor& result, bool upper, bool left,
                                  bool unit);
Tensor triangular_jvp(const Tensor& A, const Tensor& A_t, const Tensor& B_t, const Tensor& result, bool upper,
                      bool left, bool unit);
std::tuple<Tensor, Tensor> triangular_solve_composite(const Tensor& self, const Tensor& A, bool upper, bool transposed,
                                                      bool unit);
Tensor inv_composite(const Tensor& A);

Tensor det_backward(const Tensor& grad, const Tensor& A, const Tensor& result);
Tensor det_jvp(const Tensor& A_t, const Tensor& A, const Tensor& result);
Tensor slogdet_backward(std::span<Tensor> grads, const Tensor& A, const Tensor& sign);
Tensor slogdet_sign_jvp(const Tensor& A_t, const Tensor& A, const Tensor& sign);
Tensor slogdet_size_jvp(const Tensor& A_t, const Tensor& A);
Tensor logdet_composite(const Tensor& self);

Tensor cholesky_backward(const Tensor& grad, const Tensor& L, bool upper);
Tensor cholesky_jvp(const Tensor& self_t, const Tensor& L, bool upper);
Tensor cholesky_composite(const Tensor& self, bool upper);
// The factor counts as a full matrix here, not as one triangle: torch's gradient has values on both sides of the
// diagonal.
Tensor cholesky_solve_backward(const Tensor& grad, const Tensor& factor, const Tensor& result, bool upper);
Tensor cholesky_solve_jvp(const Tensor& self_t, const Tensor& factor, const Tensor& factor_t, const Tensor& result,
                          bool upper);
Tensor cholesky_inverse_backward(const Tensor& grad, const Tensor& factor, const Tensor& result, bool upper);
Tensor cholesky_inverse_jvp(const Tensor& factor_t, const Tensor& factor, const Tensor& result, bool upper);

Tensor tensorinv_composite(const Tensor& self, int64_t ind);
Tensor tensorsolve_composite(const Tensor& self, const Tensor& other, const std::optional<IntSpan>& dims);
Tensor vander_composite(const Tensor& x, std::optional<int64_t> n);

}  // namespace undertow::core::ops
