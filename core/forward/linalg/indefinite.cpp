// indefinite.cpp: forward functions of ops/linalg_solve.toml for symmetric and Hermitian indefinite matrices. Computed
// in double precision only, whatever the dtype.
// build: small
#include "core/forward/linalg/batch.h"
#include "generated/fwd_linalg_solve.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

namespace {

DType widest(DType dtype) { return is_complex(dtype) ? DType::Complex128 : DType::Float64; }
Tensor wide_columns(const Tensor& t) { return copy_columns(to_dtype(t, widest(t.dtype()))); }
Tensor as_columns(const Tensor& t, DType dtype) { return t.dtype() == dtype ? t : copy_columns(to_dtype(t, dtype)); }

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) {
  check_square(self, "undertow.linalg.ldl_factor_ex");
  check_inexact(self, "undertow.linalg.ldl_factor_ex");
  const int64_t n = self.size(-1);
  Tensor LD = wide_columns(self), pivots = empty_on_device_of(self, joined(batch_of(self), {n}), DType::Int32),
         info = empty_on_device_of(self, batch_of(self), DType::Int32);
  backend_of(LD).linalg->ldl_factor(LD, pivots, info, hermitian);
  const LinalgFailure bad = check_errors ? first_failure(info) : LinalgFailure();
  UT_CHECK_AS(LinAlg, !bad, "undertow.linalg.ldl_factor_ex: ", batch_text(info, bad), "D[", bad.info, ",", bad.info,
              "] is zero and using it in ldl_solve would result in a division by zero.");
  return {as_columns(LD, self.dtype()), pivots, info};
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  check_square(LD, "undertow.linalg.ldl_solve", "LD");
  check_matrix(B, "undertow.linalg.ldl_solve", "B");
  check_inexact(LD, "undertow.linalg.ldl_solve");
  UT_CHECK(LD.size(-1) == B.size(-2), "Incompatible matrix sizes for undertow.linalg.ldl_solve: each A matrix is ",
           LD.size(-1), " by ", LD.size(-1), " but each b matrix is ", B.size(-2), " by ", B.size(-1));
  UT_CHECK(LD.dtype() == B.dtype(), "Expected b and A to have the same dtype, but found b of type ",
           long_name(B.dtype()), " and A of type ", long_name(LD.dtype()), " instead.");
  UT_CHECK(is_integral(pivots.dtype()), "undertow.linalg.ldl_solve: Expected pivots to be integers. Got ",
           long_name(pivots.dtype()));
  UT_CHECK(
      same(LD.sizes().first(static_cast<size_t>(LD.dim() - 1)), pivots.sizes()),
      "undertow.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
      ShapeText{pivots.sizes()}, " instead");
  const int64_t n = LD.size(-1), columns = B.size(-1);
  Dims batch = broadcast_sizes(batch_of(LD), batch_of(B));
  Tensor A = wide_columns(expand(LD, joined(batch, {n, n}), false));
  Tensor rows = contiguous(expand(to_dtype(pivots, DType::Int32), joined(batch, {n}), false));
  Tensor X = wide_columns(expand(B, joined(batch, {n, columns}), false));
  backend_of(X).linalg->ldl_solve(X, A, rows, hermitian);
  return as_columns(X, LD.dtype());
}

}  // namespace undertow::core::fwd
