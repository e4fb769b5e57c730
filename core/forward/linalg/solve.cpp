// solve.cpp: forward functions of ops/linalg_solve.toml: LU and Cholesky factors, triangular and general systems,
// inverses, determinants.
// build: small
#include "core/forward/linalg/batch.h"
#include "generated/fwd_linalg_solve.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

namespace {

struct Factored {
  Tensor lu, pivots, info;
};

Factored factored(const Tensor& A) {
  int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  Factored f{copy_columns(A), empty_on_device_of(A, joined(batch_of(A), {k}), DType::Int32),
             empty_on_device_of(A, batch_of(A), DType::Int32)};
  backend_of(A).linalg->lu_factor(f.lu, f.pivots, f.info);
  return f;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) {
  check_matrix(A, "undertow.lu_factor");
  check_inexact(A, "undertow.lu_factor");
  UT_CHECK(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  Factored f = factored(A);
  LinalgFailure bad = check_errors ? first_failure(f.info) : LinalgFailure();
  UT_CHECK_AS(LinAlg, !bad, "undertow.linalg.lu_factor_ex: ", batch_text(f.info, bad), "U[", bad.info, ",", bad.info,
              "] is zero and using it on lu_solve would result in a division by zero.");
  return {f.lu, f.pivots, f.info};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data,
                                             bool unpack_pivots) {
  UT_CHECK(LU_pivots.dtype() == DType::Int32,
           "undertow.lu_unpack: LU_pivots is expected to be a contiguous tensor of undertow.int32 dtype.");
  check_matrix(LU_data, "undertow.lu_unpack", "LU_data");
  int64_t m = LU_data.size(-2), k = std::min(m, LU_data.size(-1));
  Tensor P = empty_on_device_of(LU_data, Dims{0}, LU_data.dtype()), L = P, U = P;
  if (unpack_pivots) {
    UT_CHECK(LU_pivots.dim() == LU_data.dim() - 1 && LU_pivots.size(-1) == k,
             "undertow.lu_unpack: LU_pivots must have one entry for each of the ", k,
             " pivots of LU_data, but its shape is ", ShapeText{LU_pivots.sizes()});
    P = zeros_on_device_of(LU_data, joined(batch_of(LU_data), {m, m}), LU_data.dtype());
    backend_of(P).linalg->permutation(P, contiguous(LU_pivots));
  }
  if (unpack_data) {
    L = copy_columns(slice(LU_data, -1, 0, k, 1));
    U = copy_columns(slice(LU_data, -2, 0, k, 1));
    backend_of(L).linalg->split_lu(L, U);
    L = contiguous(L);
    U = contiguous(U);
  }
  return {P, L, U};
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  check_square(A, "linalg.inv");
  check_inexact(A, "linalg.inv");
  Factored f = factored(A);
  LinalgFailure bad = check_errors ? first_failure(f.info) : LinalgFailure();
  UT_CHECK_AS(LinAlg, !bad, "linalg.inv_ex: ", batch_text(f.info, bad), "The diagonal element ", bad.info,
              " is zero, the inversion could not be completed because the input matrix is singular.");
  Tensor out = empty_columns(A, A.sizes(), A.dtype());
  backend_of(out).linalg->invert(out, f.lu, f.pivots);
  return {out, f.info};
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  check_square(A, "linalg.solve");
  check_inexact(A, "linalg.solve");
  UT_CHECK(A.dtype() == B.dtype(), "linalg.solve: Expected A and B to have the same dtype, but found A of type ",
           long_name(A.dtype()), " and B of type ", long_name(B.dtype()), " instead");
  // B is one vector per matrix if it has exactly that shape.
  bool vector =
      B.dim() == 1 || (B.dim() == A.dim() - 1 && same(B.sizes(), A.sizes().first(static_cast<size_t>(A.dim() - 1))));
  UT_CHECK(left || !vector,
           "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
           "linalg.solve is equivalent to B / A.squeeze(-1)");
  Tensor b = vector ? unsqueeze(B, -1) : B;
  UT_CHECK(b.dim() >= 2, "linalg.solve: The input tensor B must have at least 2 dimensions.");
  if (!left) {
    auto [x, info] = linalg_solve_ex(transpose(A, -2, -1), transpose(b, -2, -1), true, check_errors);
    return {transpose(x, -2, -1), info};
  }
  int64_t n = A.size(-1), columns = b.size(-1);
  UT_CHECK(b.size(-2) == n, "linalg.solve: Incompatible shapes of A and B for the equation AX = B (", n, "x", n,
           " and ", b.size(-2), "x", columns, ")");
  Dims batch = broadcast_sizes(batch_of(A), batch_of(b));
  Factored f = factored(expand(A, joined(batch, {n, n}), false));
  LinalgFailure bad = check_errors ? first_failure(f.info) : LinalgFailure();
  UT_CHECK_AS(LinAlg, !bad, "undertow.linalg.solve: ", batch_text(f.info, bad),
              "The solver failed because the input matrix is singular.");
  Tensor x = copy_columns(expand(b, joined(batch, {n, columns}), false));
  backend_of(x).linalg->solve(x, f.lu, f.pivots);
  if (!vector) return {x, f.info};
  // torch lays out a batch of vectors like a matrix.
  return {B.dim() > 1 ? copy_columns(squeeze(x, -1)) : squeeze(x, -1), f.info};
}

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) {
  check_square(self, "linalg.solve_triangular");
  check_matrix(B, "linalg.solve_triangular", "B");
  check_inexact(self, "linalg.solve_triangular");
  UT_CHECK(self.dtype() == B.dtype(),
           "linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type ",
           long_name(self.dtype()), " and B of type ", long_name(B.dtype()), " instead");
  int64_t n = self.size(-1), rows = B.size(-2), columns = B.size(-1);
  UT_CHECK((left ? rows : columns) == n, "linalg.solve_triangular: Incompatible shapes of A and B for the equation ",
           left ? "AX = B" : "XA = B", " (", left ? n : rows, "x", left ? n : columns, " and ", left ? rows : n, "x",
           left ? columns : n, ")");
  Dims batch = broadcast_sizes(batch_of(self), batch_of(B));
  Tensor a = contiguous(expand(self, joined(batch, {n, n}), false)),
         x = copy_columns(expand(B, joined(batch, {rows, columns}), false));
  backend_of(x).linalg->solve_triangular(x, a, {upper, left, unitriangular});
  return x;
}

Tensor linalg_det(const Tensor& A) {
  check_square(A, "linalg.det");
  check_inexact(A, "linalg.det");
  Factored f = factored(A);
  Tensor out = empty_on_device_of(A, batch_of(A), A.dtype());
  backend_of(A).linalg->det(out, f.lu, f.pivots);
  return out;
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  check_square(A, "linalg.slogdet");
  check_inexact(A, "linalg.slogdet");
  Factored f = factored(A);
  Tensor sign = empty_on_device_of(A, batch_of(A), A.dtype()),
         size = empty_on_device_of(A, batch_of(A), to_real(A.dtype()));
  backend_of(A).linalg->slogdet(sign, size, f.lu, f.pivots);
  return {sign, size};
}

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  check_square(self, "linalg.cholesky");
  check_inexact(self, "linalg.cholesky");
  // U^H U = A: L of the conjugate matrix, read row-major. It then reads the upper triangle.
  Tensor out = upper ? empty_on_device_of(self, self.sizes(), self.dtype())
                     : empty_columns(self, self.sizes(), self.dtype()),
         info = empty_on_device_of(self, batch_of(self), DType::Int32);
  copy_into(out, self);
  backend_of(out).linalg->cholesky(out, info);
  LinalgFailure bad = check_errors ? first_failure(info) : LinalgFailure();
  UT_CHECK_AS(LinAlg, !bad, "linalg.cholesky_ex: ", batch_text(info, bad),
              "The factorization could not be completed because the input is not positive-definite (the leading minor "
              "of order ",
              bad.info, " is not positive-definite).");
  return {upper ? copy_columns(out) : out, info};  // column-major in both cases, as in torch
}

Tensor cholesky(const Tensor& self, bool upper) {
  UT_CHECK(self.dim() >= 2, "cholesky: The input tensor A must have at least 2 dimensions.");
  UT_CHECK(self.size(-1) == self.size(-2), "cholesky: A must be batches of square matrices, but they are ",
           self.size(-2), " by ", self.size(-1), " matrices");
  auto [L, info] = linalg_cholesky_ex(self, upper, false);
  LinalgFailure bad = first_failure(info);
  UT_CHECK_AS(LinAlg, !bad, "cholesky: ", batch_text(info, bad),
              "The factorization could not be completed because the input is not positive-definite (the leading minor "
              "of order ",
              bad.info, " is not positive-definite).");
  return L;
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  UT_CHECK(self.dim() >= 2, "b should have at least 2 dimensions, but has ", self.dim(), " dimensions instead");
  UT_CHECK(input2.dim() >= 2, "u should have at least 2 dimensions, but has ", input2.dim(), " dimensions instead");
  UT_CHECK(input2.size(-1) == input2.size(-2), "A must be batches of square matrices, but they are ", input2.size(-2),
           " by ", input2.size(-1), " matrices");
  UT_CHECK(self.size(-2) == input2.size(-1), "Incompatible matrix sizes for cholesky_solve: each A matrix is ",
           input2.size(-1), " by ", input2.size(-1), " but each b matrix is ", self.size(-2), " by ", self.size(-1));
  Tensor transposed = transpose(input2, -2, -1);
  if (input2.is_complex()) transposed = materialize_bits(conj(transposed));
  const Tensor &lower = upper ? transposed : input2, &higher = upper ? input2 : transposed;
  return linalg_solve_triangular(higher, linalg_solve_triangular(lower, self, false, true, false), true, true, false);
}
Tensor cholesky_inverse(const Tensor& self, bool upper) {
  check_square(self, "cholesky_inverse");
  check_inexact(self, "cholesky_inverse");
  Tensor one = zeros_on_device_of(self, self.sizes(), self.dtype());
  fill_into(diagonal(one, 0, -2, -1), Scalar(1));
  return cholesky_solve(one, self, upper);
}

}  // namespace undertow::core::fwd
