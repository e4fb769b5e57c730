// factors.h: work on factors of matrices by kernels of our own. See LinalgKernels for layouts and meanings.
#pragma once
#include "core/kernels/linalg.h"

namespace undertow::core::cuda {

// The number of matrices in the last two dimensions.
int64_t batch_count(const Tensor& t);

void factor_lu(const Tensor& a, const Tensor& pivots, const Tensor& info);
void factor_cholesky(const Tensor& a, const Tensor& info);
void solve_factored(const Tensor& x, const Tensor& lu, const Tensor& pivots);
// Column-major square matrices.
void write_identity(const Tensor& x);
void solve_triangular(const Tensor& x, const Tensor& a, TriangularSystem how);
void permutation(const Tensor& P, const Tensor& pivots);
void split_lu(const Tensor& L, const Tensor& U);
void det(const Tensor& out, const Tensor& lu, const Tensor& pivots);
void slogdet(const Tensor& sign, const Tensor& size, const Tensor& lu, const Tensor& pivots);
int64_t divide_columns(const Tensor& a, const Tensor& values, const Tensor& atol, const Tensor& rtol,
                       const Tensor& ranks);
void squared_distances(const Tensor& out, const Tensor& a, const Tensor& b);

}  // namespace undertow::core::cuda
