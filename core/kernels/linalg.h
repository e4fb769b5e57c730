// linalg.h: kernels for factorizations of dense matrices and for solving systems. float, double and complex.
//
// Tensors are batches of matrices in their last two dimensions. "Columns" means matrices in column-major order, as in
// LAPACK, with contiguous batches. Row counts and pivots are int32 and start at 1; info is the number of the first
// pivot that failed, or 0. All other tensors are row-major.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

// The first matrix of a batch whose info is not zero.
struct LinalgFailure {
  int64_t matrix = -1;  // none
  int32_t info = 0;
  explicit operator bool() const { return matrix >= 0; }
};

// How to read a triangular system.
struct TriangularSystem {
  bool upper, left, unit;  // unit: the diagonal is not read and taken to be ones
};

struct LinalgKernels {
  // Called when a check is needed immediately: an asynchronous device synchronizes here.
  Kernel<"linalg", LinalgFailure(const Tensor& info)> first_failure;

  // Columns a = P L U in place, with partial pivoting.
  Kernel<"linalg_lu_factor_ex", void(const Tensor& a, const Tensor& pivots, const Tensor& info)> lu_factor;
  // Writes the permutation matrices of row exchanges into zeros; raises if a pivot is out of range.
  Kernel<"lu_unpack", void(const Tensor& P, const Tensor& pivots)> permutation;
  // Columns that hold copies of LU: L gets ones on its diagonal and zeros above it, U gets zeros below it.
  Kernel<"lu_unpack", void(const Tensor& L, const Tensor& U)> split_lu;
  // Columns out = the inverse, from the results of lu_factor.
  Kernel<"linalg_inv_ex", void(const Tensor& out, const Tensor& lu, const Tensor& pivots)> invert;
  // Columns x = A^-1 x, from the results of lu_factor.
  Kernel<"linalg_solve_ex", void(const Tensor& x, const Tensor& lu, const Tensor& pivots)> solve;
  // Columns x = a^-1 x, or x a^-1 if not left; a is row-major.
  Kernel<"linalg_solve_triangular", void(const Tensor& x, const Tensor& a, TriangularSystem how)> solve_triangular;
  // From the results of lu_factor.
  Kernel<"linalg_det", void(const Tensor& out, const Tensor& lu, const Tensor& pivots)> det;
  Kernel<"linalg_slogdet", void(const Tensor& sign, const Tensor& size, const Tensor& lu, const Tensor& pivots)>
      slogdet;
  // Columns a = L L^H in place: only the lower triangle is read, the upper one is set to zero.
  Kernel<"linalg_cholesky_ex", void(const Tensor& a, const Tensor& info)> cholesky;
  // Columns a = L D L^T (L^H if hermitian) in place, Bunch-Kaufman pivoting, in LAPACK's format. double or Complex128.
  Kernel<"linalg_ldl_factor_ex", void(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian)>
      ldl_factor;
  // Columns x = A^-1 x, from the results of ldl_factor. Raises for pivots that ldl_factor cannot have produced.
  Kernel<"linalg_ldl_solve", void(const Tensor& x, const Tensor& a, const Tensor& pivots, bool hermitian)> ldl_solve;

  // Columns R and, if want_q, Q of a = Q R; a is column-major and is overwritten.
  Kernel<"linalg_qr", void(const Tensor& Q, const Tensor& R, const Tensor& a, bool want_q)> qr;
  // Columns a = R on and above the diagonal, and reflectors below it.
  Kernel<"geqrf", void(const Tensor& a, const Tensor& tau)> reflections;
  // Eigenvalues of Hermitian matrices, ascending; column-major a becomes the eigenvectors if `vectors`. Only the lower
  // triangle is read. Raises if the iteration does not converge, as do eig and svd.
  Kernel<"linalg_eigh", void(const Tensor& values, const Tensor& a, bool vectors)> eigh;
  // Eigenvalues and eigenvectors of complex column-major a, which is overwritten.
  Kernel<"linalg_eig", void(const Tensor& values, const Tensor& vectors, const Tensor& a)> eig;
  // a = U S V^H for at least as many rows as columns; a, U and V are column-major. U and V are undefined if not needed.
  Kernel<"linalg_svd", void(const Tensor& S, const Tensor& U, const Tensor& V, const Tensor& a)> svd;

  // Multiplies column j of a by 1 / values[j] in place, or by 0 if values[j] is not above max(atol, rtol * largest
  // value). ranks, if defined, receives the number of values above it; returns the smallest of these ranks. atol and
  // rtol are double, one per matrix.
  Kernel<"linalg_pinv",
         int64_t(const Tensor& a, const Tensor& values, const Tensor& atol, const Tensor& rtol, const Tensor& ranks)>
      divide_columns;
  // Least-squares solutions of a x = b for at least as many rows as columns in a. x holds b on entry and the solution
  // in its first rows on return. With `adjoint`, the minimum-norm solutions of a^H x = b. Both are column-major; a is
  // overwritten. Returns false if a matrix may be rank-deficient: x must not be used then.
  Kernel<"linalg_lstsq", bool(const Tensor& x, const Tensor& a, bool adjoint, double limit)> least_squares;
  // out[..., j] = the sum of |a - b|^2 over column j.
  Kernel<"linalg_lstsq", void(const Tensor& out, const Tensor& a, const Tensor& b)> squared_distances;
  // exp(a) in place, for double and Complex128; `single`: float precision is enough.
  Kernel<"linalg_matrix_exp", void(const Tensor& a, bool single)> exponential;
};

}  // namespace undertow::core
