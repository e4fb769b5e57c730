// linalg.h: kernels of factorizations of dense matrices, and of systems solved with them. float, double and complex.
//
// Tensors are batches of matrices in their last two dimensions. "Columns" are matrices whose columns follow each other
// in memory, as LAPACK's do, the matrices of a batch following each other too. Counts of rows and pivots are int32 and
// begin at 1; info is the number of the first pivot that failed, else 0. All other tensors are row-major.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

// The first matrix of a batch whose info is not zero.
struct LinalgFailure {
  int64_t matrix = -1;  // none
  int32_t info = 0;
  explicit operator bool() const { return matrix >= 0; }
};

// How a triangular system is to be read.
struct TriangularSystem {
  bool upper, left, unit;  // unit: the diagonal is not read and counts as ones
};

struct LinalgKernels {
  // Where a check is wanted at once: a device that works behind the caller waits here.
  Kernel<"linalg", LinalgFailure(const Tensor& info)> first_failure;

  // Columns a = P L U in place, rows exchanged for the largest pivot.
  Kernel<"linalg_lu_factor_ex", void(const Tensor& a, const Tensor& pivots, const Tensor& info)> lu_factor;
  // Into zeros: the permutation matrices of row exchanges, which raises where a pivot is out of range.
  Kernel<"lu_unpack", void(const Tensor& P, const Tensor& pivots)> permutation;
  // Columns that hold copies of LU's: L gets ones on its diagonal and zeros above it, U zeros below it.
  Kernel<"lu_unpack", void(const Tensor& L, const Tensor& U)> split_lu;
  // Columns out = the inverse, from lu_factor's results.
  Kernel<"linalg_inv_ex", void(const Tensor& out, const Tensor& lu, const Tensor& pivots)> invert;
  // Columns x = A^-1 x, from lu_factor's results.
  Kernel<"linalg_solve_ex", void(const Tensor& x, const Tensor& lu, const Tensor& pivots)> solve;
  // Columns x = a^-1 x, or x a^-1 unless left; a is row-major.
  Kernel<"linalg_solve_triangular", void(const Tensor& x, const Tensor& a, TriangularSystem how)> solve_triangular;
  // From lu_factor's results.
  Kernel<"linalg_det", void(const Tensor& out, const Tensor& lu, const Tensor& pivots)> det;
  Kernel<"linalg_slogdet", void(const Tensor& sign, const Tensor& size, const Tensor& lu, const Tensor& pivots)>
      slogdet;
  // Columns a = L L^H in place: only the lower triangle is read, the upper one is set to zero.
  Kernel<"linalg_cholesky_ex", void(const Tensor& a, const Tensor& info)> cholesky;
  // Columns a = L D L^T (L^H if hermitian) in place, by Bunch and Kaufman, in LAPACK's format. double or Complex128.
  Kernel<"linalg_ldl_factor_ex", void(const Tensor& a, const Tensor& pivots, const Tensor& info, bool hermitian)>
      ldl_factor;
  // Columns x = A^-1 x, from ldl_factor's results. Raises for pivots that cannot be its.
  Kernel<"linalg_ldl_solve", void(const Tensor& x, const Tensor& a, const Tensor& pivots, bool hermitian)> ldl_solve;

  // Columns R and, unless it has no elements to hold, Q of a = Q R; a, in columns, is destroyed.
  Kernel<"linalg_qr", void(const Tensor& Q, const Tensor& R, const Tensor& a, bool want_q)> qr;
  // Columns a = R above the diagonal and reflections below it.
  Kernel<"geqrf", void(const Tensor& a, const Tensor& tau)> reflections;
  // Eigenvalues of Hermitian matrices, ascending; a, in columns, becomes the eigenvectors if they are wanted. Only the
  // lower triangle is read. Raises where the iteration fails; so do eig and svd.
  Kernel<"linalg_eigh", void(const Tensor& values, const Tensor& a, bool vectors)> eigh;
  // Eigenvalues and eigenvectors of complex a, in columns, which is destroyed.
  Kernel<"linalg_eig", void(const Tensor& values, const Tensor& vectors, const Tensor& a)> eig;
  // a = U S V^H for at least as many rows as columns; a, U and V in columns. U and V are undefined if not wanted.
  Kernel<"linalg_svd", void(const Tensor& S, const Tensor& U, const Tensor& V, const Tensor& a)> svd;

  // Columns j of a times 1 / values[j], or 0 where that is not above max(atol, rtol * the greatest of all), in place.
  // ranks, if defined: how many were above. The least of them. atol and rtol are double, one for each matrix.
  Kernel<"linalg_pinv",
         int64_t(const Tensor& a, const Tensor& values, const Tensor& atol, const Tensor& rtol, const Tensor& ranks)>
      divide_columns;
  // The least-squares solutions of a x = b for at least as many rows as columns in a, left in x's first rows, where b
  // was; or, `adjoint`, the shortest ones of a^H x = b. Both in columns; a is destroyed. False if a matrix may be
  // short of full rank: x is then not to be used.
  Kernel<"linalg_lstsq", bool(const Tensor& x, const Tensor& a, bool adjoint, double limit)> least_squares;
  // out[..., j] = the sum of |a - b|^2 over column j.
  Kernel<"linalg_lstsq", void(const Tensor& out, const Tensor& a, const Tensor& b)> squared_distances;
  // exp(a) in place, for double and Complex128; `single`: exact to float's rounding is enough.
  Kernel<"linalg_matrix_exp", void(const Tensor& a, bool single)> exponential;
};

}  // namespace undertow
