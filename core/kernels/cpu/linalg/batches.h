// batches.h: the CPU's LinalgKernels (see there): applies factorizations.h to batches of matrices.
#pragma once
#include "core/kernels/linalg.h"

namespace undertow::core::cpu {

LinalgFailure first_failure(const Tensor& info);

// systems.cpp
void batch_lu_factor(const Tensor& a, const Tensor& pivots, const Tensor& info);
void permutation(const Tensor& P, const Tensor& pivots);
void split_lu(const Tensor& L, const Tensor& U);
void batch_invert(const Tensor& out, const Tensor& lu, const Tensor& pivots);
void batch_solve(const Tensor& x, const Tensor& lu, const Tensor& pivots);
void batch_solve_triangular(const Tensor& x, const Tensor& a, TriangularSystem how);
void det(const Tensor& out, const Tensor& lu, const Tensor& pivots);
void slogdet(const Tensor& sign, const Tensor& size, const Tensor& lu, const Tensor& pivots);
void batch_cholesky(const Tensor& a, const Tensor& info);

// indefinite.cpp
void ldl_factor(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian);
void ldl_solve(const Tensor& x, const Tensor& a, const Tensor& pivots, bool hermitian);

// decompositions.cpp
void batch_qr(const Tensor& Q, const Tensor& R, const Tensor& a, bool want_q);
void batch_reflections(const Tensor& a, const Tensor& tau);
void batch_eigh(const Tensor& values, const Tensor& a, bool vectors);
void batch_eig(const Tensor& values, const Tensor& vectors, const Tensor& a);
void batch_svd(const Tensor& S, const Tensor& U, const Tensor& V, const Tensor& a);
int64_t divide_columns(const Tensor& a, const Tensor& values, const Tensor& atol, const Tensor& rtol,
                       const Tensor& ranks);
bool batch_least_squares(const Tensor& x, const Tensor& a, bool adjoint, double limit);
void squared_distances(const Tensor& out, const Tensor& a, const Tensor& b);

// exponential.cpp
void batch_exponential(const Tensor& a, bool single);

}  // namespace undertow::core::cpu
