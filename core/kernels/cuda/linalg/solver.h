// solver.h: factorizations by cuSOLVER, which must be installed. See LinalgKernels for layouts and meanings.
#pragma once
#include "core/kernels/linalg.h"

namespace undertow::core::cuda {

void solver_lu(const Tensor& a, const Tensor& pivots, const Tensor& info);
void solver_solve(const Tensor& x, const Tensor& lu, const Tensor& pivots);
void solver_cholesky(const Tensor& a, const Tensor& info);
void solver_qr(const Tensor& Q, const Tensor& R, const Tensor& a, bool want_q);
void solver_reflections(const Tensor& a, const Tensor& tau);
void solver_eigh(const Tensor& values, const Tensor& a, bool vectors);
void solver_svd(const Tensor& S, const Tensor& U, const Tensor& V, const Tensor& a);

}  // namespace undertow::core::cuda
