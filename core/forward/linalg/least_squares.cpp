// least_squares.cpp: forward functions of ops/linalg_spectral.toml that use a decomposition: pseudoinverse, least
// squares, and the matrix exponential.
// build: small
#include "core/forward/linalg/batch.h"
#include "core/forward/matmul/matmul.h"
#include "generated/fwd_linalg_spectral.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

namespace {

Tensor adjoint(const Tensor& t) {
  Tensor transposed = transpose(t, -2, -1);
  return t.is_complex() ? materialize_bits(conj(transposed)) : transposed;
}

// Column j of `matrices` times 1 / s_j, or times 0 if |s_j| is not above its matrix's cut-off.
struct Divided {
  Tensor columns;
  int64_t least_rank;  // the minimum number of columns that were kept
};
Divided divide_columns(const Tensor& matrices, const Tensor& values, const Tensor& atol, const Tensor& rtol,
                       const Tensor& ranks = {}) {
  Tensor out = copy_columns(matrices);
  Dims batch(values.sizes());
  batch.pop_back();
  Tensor a = contiguous(expand(to_dtype(atol, DType::Float64), batch, false)),
         r = contiguous(expand(to_dtype(rtol, DType::Float64), batch, false));
  int64_t least = backend_of(out).linalg->divide_columns(out, contiguous(values), a, r, ranks);
  return {out, least};
}

// The solution of every system of a batch by QR; undefined if one of them may be rank-deficient.
Tensor full_rank_solution(const Tensor& a, const Tensor& y, double limit) {
  const int64_t m = a.size(-2), n = a.size(-1), columns = y.size(-1), rows = std::max(m, n);
  if (a.numel() == 0 || y.numel() == 0) return Tensor();
  Tensor work = copy_columns(m >= n ? a : adjoint(a)),
         x = empty_columns(a, joined(batch_of(a), {rows, columns}), a.dtype());
  copy_into(m >= n ? x : slice(x, -2, 0, m, 1), y);
  if (!backend_of(x).linalg->least_squares(x, work, m < n, limit)) return Tensor();
  return m > n ? contiguous(slice(x, -2, 0, n, 1)) : x;
}

}  // namespace

Tensor _linalg_pinv(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  if (self.numel() == 0)
    return zeros_on_device_of(self, joined(batch_of(self), {self.size(-1), self.size(-2)}), self.dtype());
  if (hermitian) {
    auto [values, vectors] = _linalg_eigh(self, "L", true);
    return matmul_direct(divide_columns(vectors, values, atol, rtol).columns, adjoint(vectors));
  }
  auto [U, S, Vh] = _linalg_svd(self, false, true, std::nullopt);
  return matmul_direct(divide_columns(adjoint(Vh), S, atol, rtol).columns, adjoint(U));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& self, const Tensor& b,
                                                        std::optional<double> rcond,
                                                        std::optional<std::string_view> driver) {
  check_matrix(self, "undertow.linalg.lstsq", "input");
  check_inexact(self, "undertow.linalg.lstsq");
  UT_CHECK(b.dim() >= 1, "undertow.linalg.lstsq: other must have at least 1 dimension.");
  UT_CHECK(self.dtype() == b.dtype(),
           "undertow.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype ",
           self.dtype(), " and other's dtype ", b.dtype());
  std::string_view by = driver.value_or("gelsy");
  UT_CHECK(by == "gels" || by == "gelsy" || by == "gelsd" || by == "gelss",
           "undertow.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  const int64_t fewer = self.dim() - b.dim();
  UT_CHECK(fewer == 0 || fewer == 1,
           "undertow.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
           "<= 1");
  UT_CHECK(self.size(-2) == b.size(fewer - 2), "undertow.linalg.lstsq: input.size(-2) should match other.size(",
           fewer - 2, ")");
  bool vector = b.dim() == self.dim() - 1 && same(b.sizes(), self.sizes().first(static_cast<size_t>(self.dim() - 1)));
  Tensor rhs = vector ? unsqueeze(b, -1) : b;
  int64_t m = self.size(-2), n = self.size(-1);
  UT_CHECK(rhs.size(-2) == m, "undertow.linalg.lstsq: input.size(-2) should match other.size(-2)");
  Dims batch = broadcast_sizes(batch_of(self), batch_of(rhs));
  Tensor a = expand(self, joined(batch, {m, n}), false), y = expand(rhs, joined(batch, {m, rhs.size(-1)}), false);
  double eps = self.dtype() == DType::Float32 || self.dtype() == DType::Complex64 ? 0x1p-23 : 0x1p-52;
  double limit = rcond.value_or(eps * static_cast<double>(std::max(m, n)));
  if (limit < 0 || (by == "gelsd" && (limit == 0 || limit >= 1)))
    limit = eps;  // as LAPACK does: the machine's precision
  int64_t least_rank = std::min(m, n);
  Tensor rank = full_on_device_of(self, batch, Scalar(static_cast<long>(least_rank)), DType::Int64);
  Tensor S, solution;
  if (by == "gels" || by == "gelsy") solution = full_rank_solution(a, y, limit);
  if (!solution.defined()) {
    auto [U, values, Vh] = _linalg_svd(a, false, true, std::nullopt);
    S = values;
    Tensor zero = zeros_on_device_of(self, {}, DType::Float64),
           relative = full_on_device_of(self, {}, Scalar(limit), DType::Float64);
    auto [scaled, least] = divide_columns(adjoint(Vh), S, zero, relative, rank);
    least_rank = least;
    solution = matmul_direct(scaled, matmul_direct(adjoint(U), contiguous(y)));
  }
  // Squared norms of the residuals, if there are more equations than unknowns and the matrix has full rank.
  Tensor residuals = empty_on_device_of(self, Dims{0}, to_real(self.dtype()));
  if (m > n && least_rank == n && by != "gelsy") {
    Tensor fitted = matmul_direct(a, solution), target = contiguous(y);
    residuals = empty_on_device_of(self, joined(batch, {y.size(-1)}), to_real(self.dtype()));
    backend_of(self).linalg->squared_distances(residuals, fitted, target);
  }
  if (by == "gels") rank = empty_on_device_of(self, Dims{0}, DType::Int64);
  bool with_values = by == "gelsd" || by == "gelss";
  return {vector ? squeeze(solution, -1) : solution, residuals, rank,
          with_values ? S : empty_on_device_of(self, Dims{0}, to_real(self.dtype()))};
}

Tensor linalg_matrix_exp(const Tensor& self) {
  check_square(self, "linalg.matrix_exp", "A");
  UT_CHECK(is_differentiable(self.dtype()),
           "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ", long_name(self.dtype()));
  // Each squaring doubles the relative error, so narrow types are computed in wide ones.
  DType wide = self.is_complex() ? DType::Complex128 : DType::Float64;
  bool narrow = self.dtype() != wide;
  // exp(A^T) is exp(A)^T, so row-major can be treated as column-major.
  Tensor out = contiguous_copy(narrow ? to_dtype(self, wide) : self);
  backend_of(out).linalg->exponential(out, narrow);
  return narrow ? to_dtype(out, self.dtype()) : out;
}

}  // namespace undertow::core::fwd
