// solve.cpp: see solve.h. X^H is the adjoint; tril(X, -1) is strictly below the diagonal.
// build: small
#include "core/autograd/formulas/linalg/solve.h"

#include "core/autograd/formulas/formulas.h"
#include "core/autograd/formulas/linalg/show_check.h"
#include "core/forward/copy/copy.h"
#include "core/forward/linalg/batch.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

Tensor diagonal_matrix(const Tensor& values) { return diag_embed(values, 0, -2, -1); }
Tensor minus_adjoint(const Tensor& t) { return t - adjoint_of(t); }

namespace {
Tensor triangle(const Tensor& t, bool upper, bool strict = false) {
  return upper ? triu(t, strict) : tril(t, strict ? -1 : 0);
}
Tensor permutation(const Tensor& LU, const Tensor& pivots) {
  return std::get<0>(lu_unpack(detach(LU), pivots, false, true));
}
Tensor with_unit_diagonal(const Tensor& lower) {
  return tril(lower, -1) + eye(lower.size(-2), lower.size(-1), lower.dtype(), lower.device());
}
Tensor rows(const Tensor& t, int64_t from, int64_t to) { return narrow(t, -2, from, to - from); }
Tensor columns(const Tensor& t, int64_t from, int64_t to) { return narrow(t, -1, from, to - from); }
Tensor solve_lower(const Tensor& L, const Tensor& b) {
  return linalg_solve_triangular(L, b, false, true, true);
}  // L^-1 b
Tensor solve_lower_adjoint(const Tensor& L, const Tensor& b) {
  return linalg_solve_triangular(adjoint_of(L), b, true, true, true);
}  // L^-H b
Tensor times_inverse(const Tensor& b, const Tensor& U) {
  return linalg_solve_triangular(U, b, true, false, false);
}  // b U^-1
Tensor times_inverse_adjoint(const Tensor& b, const Tensor& U) {
  return linalg_solve_triangular(adjoint_of(U), b, false, false, false);
}
}  // namespace

// With P^T A = L U, square: gA = P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H. Below the square part of a tall matrix
// is L2 = A2 U^-1, to the right of that of a wide one is U2 = L^-1 A2; their gradients also flow through U and L.
Tensor lu_factor_backward(const Tensor& grad, const Tensor& LU, const Tensor& pivots) {
  int64_t m = LU.size(-2), n = LU.size(-1), k = std::min(m, n);
  Tensor square = rows(columns(LU, 0, k), 0, k), L = with_unit_diagonal(square), U = triu(square, 0);
  Tensor g = rows(columns(grad, 0, k), 0, k), left = matmul(adjoint_of(L), tril(g, -1)),
         right = matmul(triu(g, 0), adjoint_of(U));
  Tensor extra;
  if (m > n) {
    Tensor L2 = rows(LU, k, m), g2 = rows(grad, k, m);
    right = right - matmul(adjoint_of(L2), g2);
    extra = times_inverse_adjoint(g2, U);
  } else if (m < n) {
    Tensor U2 = columns(LU, k, n), g2 = columns(grad, k, n);
    left = left - matmul(g2, adjoint_of(U2));
    extra = solve_lower_adjoint(L, g2);
  }
  Tensor out = times_inverse_adjoint(solve_lower_adjoint(L, tril(left, -1) + triu(right, 0)), U);
  if (extra.defined()) {
    Tensor parts[] = {out, extra};
    out = cat(TensorSpan(parts, 2), m > n ? -2 : -1);
  }
  return matmul(permutation(LU, pivots), out);
}
Tensor lu_factor_jvp(const Tensor& A_t, const Tensor& LU, const Tensor& pivots) {
  int64_t m = LU.size(-2), n = LU.size(-1), k = std::min(m, n);
  Tensor square = rows(columns(LU, 0, k), 0, k), L = with_unit_diagonal(square), U = triu(square, 0);
  Tensor dA = matmul(transpose(permutation(LU, pivots), -2, -1), A_t);
  Tensor inner = times_inverse(solve_lower(L, rows(columns(dA, 0, k), 0, k)), U);
  Tensor dL = matmul(L, tril(inner, -1)), dU = matmul(triu(inner, 0), U), out = dL + dU;
  if (m == n) return out;
  Tensor extra = m > n ? times_inverse(rows(dA, k, m) - matmul(rows(LU, k, m), dU), U)
                       : solve_lower(L, columns(dA, k, n) - matmul(dL, columns(LU, k, n)));
  Tensor parts[] = {out, extra};
  return cat(TensorSpan(parts, 2), m > n ? -2 : -1);
}
std::tuple<Tensor, Tensor> lu_factor_composite(const Tensor& A, bool pivot) {
  auto [LU, pivots, info] = linalg_lu_factor_ex(A, pivot, false);
  show_check(info, "torch.linalg.lu_factor");
  LinalgFailure bad = fwd::first_failure(info);
  UT_CHECK_AS(LinAlg, !bad, "undertow.linalg.lu_factor: ", fwd::batch_text(info, bad), "U[", bad.info, ",", bad.info,
              "] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
              "factorization, consider calling linalg.lu(A, pivot) or "
              "linalg.lu_factor_ex(A, pivot)");
  return {LU, pivots};
}
std::tuple<Tensor, Tensor> ldl_factor_composite(const Tensor& self, bool hermitian) {
  auto [LD, pivots, info] = linalg_ldl_factor_ex(self, hermitian, true);
  return {LD, pivots};
}
std::tuple<Tensor, Tensor, Tensor> lu_composite(const Tensor& A, bool pivot) {
  UT_CHECK(pivot, "linalg.lu: LU without pivoting is not implemented on the CPU");
  fwd::check_matrix(A, "linalg.lu");
  fwd::check_inexact(A, "linalg.lu");
  auto [LU, pivots, info] = linalg_lu_factor_ex(A, true, false);
  return lu_unpack(LU, pivots, true, true);
}
Tensor lu_unpack_backward(std::span<Tensor> grads, IntSpan sizes) {
  int64_t m = sizes[sizes.size() - 2], n = sizes[sizes.size() - 1], k = std::min(m, n);
  const Tensor &gL = grads[1], &gU = grads[2];
  // Both with the shape of LU, and zeros in the part of the other.
  Tensor lower, upper;
  if (gL.defined()) {
    lower = tril(gL, -1);
    if (n > k) {
      Tensor parts[] = {lower,
                        fwd::zeros_on_device_of(lower, fwd::joined(fwd::batch_of(lower), {m, n - k}), lower.dtype())};
      lower = cat(TensorSpan(parts, 2), -1);
    }
  }
  if (gU.defined()) {
    upper = triu(gU, 0);
    if (m > k) {
      Tensor parts[] = {upper,
                        fwd::zeros_on_device_of(upper, fwd::joined(fwd::batch_of(upper), {m - k, n}), upper.dtype())};
      upper = cat(TensorSpan(parts, 2), -2);
    }
  }
  return self_t_plus(lower, upper);
}
Tensor lu_unpack_lower(const Tensor& t, bool unpack_data) {
  return unpack_data ? tril(columns(t, 0, std::min(t.size(-1), t.size(-2))), -1) : Tensor();
}
Tensor lu_unpack_upper(const Tensor& t, bool unpack_data) {
  return unpack_data ? triu(rows(t, 0, std::min(t.size(-1), t.size(-2))), 0) : Tensor();
}

// A = P L U. Left: X = U^-1 L^-1 P^T B, adjoint P L^-H U^-H B. Right: B U^-1 L^-1 P^T, adjoint B P L^-H U^-H.
Tensor lu_solve_composite(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  fwd::check_square(LU, "undertow.linalg.lu_solve", "LU");
  fwd::check_inexact(LU, "undertow.linalg.lu_solve");
  fwd::check_matrix(B, "undertow.linalg.lu_solve", "B");
  UT_CHECK(LU.dtype() == B.dtype(),
           "undertow.linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type ",
           long_name(LU.dtype()), " and B of type ", long_name(B.dtype()), " instead");
  UT_CHECK(pivots.dtype() == DType::Int32,
           "linalg.lu_solve: pivots should be a Tensor of scalar type undertow.int32, but got ", pivots.dtype());
  UT_CHECK(B.size(left ? -2 : -1) == LU.size(-1), "linalg.lu_solve: Incompatible shapes of A and B for the equation ",
           left ? "AX = B" : "XA = B", " (", LU.size(-2), "x", LU.size(-1), " and ", B.size(-2), "x", B.size(-1), ")");
  UT_CHECK(pivots.dim() == LU.dim() - 1 && pivots.size(-1) == LU.size(-1),
           "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix");
  Tensor P = permutation(LU, pivots);
  if (left && !adjoint)
    return linalg_solve_triangular(LU, solve_lower(LU, matmul(transpose(P, -2, -1), B)), true, true, false);
  // As in torch, X is column-major, and row-major if it is on the left.
  if (left) {
    Tensor y = solve_lower_adjoint(LU, linalg_solve_triangular(adjoint_of(LU), B, false, true, false));
    return transpose(matmul(transpose(y, -2, -1), transpose(P, -2, -1)), -2, -1);
  }
  if (!adjoint)
    return matmul(linalg_solve_triangular(LU, times_inverse(B, LU), false, false, true), transpose(P, -2, -1));
  return contiguous(times_inverse_adjoint(linalg_solve_triangular(adjoint_of(LU), matmul(B, P), true, false, true), LU),
                    MemoryFormat::Contiguous);
}

Tensor solve_unchecked(const Tensor& A, const Tensor& B, bool left) {
  return std::get<0>(linalg_solve_ex(A, B, left, false));
}

// A X = B: gB = A^-H gX, gA = -gB X^H. X A = B: gA = -X^H gB.
Tensor solve_backward_matrix(const Tensor& grad, const Tensor& A, IntSpan b_sizes, const Tensor& result, bool left) {
  Tensor g = solve_unchecked(adjoint_of(A), grad, left);
  bool vector = b_sizes.size() == 1 || same(b_sizes, A.sizes().first(static_cast<size_t>(A.dim() - 1)));
  if (vector) return -(unsqueeze(g, -1) * unsqueeze(conj(result), -2));
  return left ? -matmul(g, adjoint_of(result)) : -matmul(adjoint_of(result), g);
}
Tensor solve_jvp(const Tensor& A, const Tensor& A_t, const Tensor& B, const Tensor& B_t, const Tensor& result,
                 bool left) {
  bool vector = B.dim() == 1 || same(B.sizes(), A.sizes().first(static_cast<size_t>(A.dim() - 1)));
  Tensor moved;
  if (A_t.defined())
    moved = vector ? squeeze(matmul(A_t, unsqueeze(result, -1)), -1) : left ? matmul(A_t, result) : matmul(result, A_t);
  return solve_unchecked(A, minus_defined(B_t, moved), left);
}
Tensor solve_composite(const Tensor& A, const Tensor& B, bool left) {
  return std::get<0>(linalg_solve_ex(A, B, left, true));
}

Tensor triangular_backward_matrix(const Tensor& grad, const Tensor& A, const Tensor& result, bool upper, bool left,
                                  bool unit) {
  Tensor g = linalg_solve_triangular(adjoint_of(A), grad, !upper, left, unit);
  return -triangle(left ? matmul(g, adjoint_of(result)) : matmul(adjoint_of(result), g), upper, unit);
}
Tensor triangular_jvp(const Tensor& A, const Tensor& A_t, const Tensor& B_t, const Tensor& result, bool upper,
                      bool left, bool unit) {
  Tensor moved;
  if (A_t.defined()) {
    Tensor dA = triangle(A_t, upper, unit);
    moved = left ? matmul(dA, result) : matmul(result, dA);
  }
  return linalg_solve_triangular(A, minus_defined(B_t, moved), upper, left, unit);
}
std::tuple<Tensor, Tensor> triangular_solve_composite(const Tensor& self, const Tensor& A, bool upper, bool transposed,
                                                      bool unit) {
  UT_CHECK(self.dim() >= 2, "undertow.triangular_solve: Expected b to have at least 2 dimensions, but it has ",
           self.dim(), " dimensions instead");
  UT_CHECK(A.dim() >= 2, "undertow.triangular_solve: Expected A to have at least 2 dimensions, but it has ", A.dim(),
           " dimensions instead");
  Tensor matrix = transposed ? transpose(A, -2, -1) : A;
  // Column-major, as in torch; cloned again, because the result is not a view.
  Tensor copy = clone(transpose(clone(transpose(A, -2, -1), MemoryFormat::Contiguous), -2, -1), std::nullopt);
  return {linalg_solve_triangular(matrix, self, upper != transposed, true, unit), copy};
}
Tensor inv_composite(const Tensor& A) {
  auto [inverse, info] = linalg_inv_ex(A, false);
  show_check(info, "linalg.inv");
  LinalgFailure bad = fwd::first_failure(info);
  UT_CHECK_AS(LinAlg, !bad, "linalg.inv: ", fwd::batch_text(info, bad), "The diagonal element ", bad.info,
              " is zero, the inversion could not be completed because the input matrix is singular.");
  return inverse;
}

}  // namespace undertow::core::ops
