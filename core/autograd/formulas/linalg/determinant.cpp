// determinant.cpp: see solve.h: determinants, Cholesky factors, and tensor equations.
// build: small
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/formulas/linalg/show_check.h"
#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"
#include "core/forward/linalg/batch.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

namespace {
double epsilon_of(DType t) { return t == DType::Float32 || t == DType::Complex64 ? 0x1p-23 : 0x1p-52; }
// c A^-H, with one number c per matrix.
Tensor scaled_inverse_adjoint(const Tensor& A, const Tensor& c) {
  Tensor d = diagonal_matrix(expand(unsqueeze(c, -1), fwd::joined(fwd::batch_of(A), {A.size(-1)})));
  return solve_unchecked(adjoint_of(A), d, true);
}
Tensor trace_of(const Tensor& t) { return sum(diagonal(t, 0, -2, -1), IntSpan(Dims{-1}), false, std::nullopt); }
}  // namespace

// d det = tr(adj(A) dA). The adjugate is det A^-1. For a matrix too close to singular for that, with A = U S V^H, it is
// det(U V^H) V adj(S) U^H, where adj(S) has the products of all other singular values on its diagonal.
Tensor det_backward(const Tensor& grad, const Tensor& A, const Tensor& result) {
  if (A.size(-1) == 0) return zeros_like_grad(A);
  if (A.size(-1) == 1) return expand(unsqueeze(unsqueeze(grad, -1), -1), A.sizes());
  Tensor tiny = lt(abs(detach(result)), Scalar(100 * epsilon_of(A.dtype())));
  // If the elements cannot be read,, use the second formula, which is correct for every matrix.
  if (fwd::has_elements(tiny) && !item(any(tiny)).to<bool>()) return scaled_inverse_adjoint(A, grad * conj(result));
  auto [U, S, Vh] = _linalg_svd(A, false, true, std::nullopt);
  Tensor phase = conj(linalg_det(U) * linalg_det(Vh)) * grad,
         ones = fwd::full_on_device_of(A, fwd::batch_of(A), Scalar(1.0), S.dtype());
  Tensor others = prod_backward(ones, S, prod(S, -1, false, std::nullopt), -1, false);
  return matmul(U * unsqueeze(unsqueeze(phase, -1) * others, -2), Vh);
}
Tensor det_jvp(const Tensor& A_t, const Tensor& A, const Tensor& result) {
  Tensor one = fwd::full_on_device_of(result, result.sizes(), Scalar(1.0), result.dtype());
  return sum(A_t * conj(det_backward(one, A, result)), IntSpan(Dims{-2, -1}), false, std::nullopt);
}

// log det = logabsdet + i arg(sign), and d log det = tr(A^-1 dA) = t: dlogabsdet = Re t, dsign = i sign Im t.
Tensor slogdet_backward(std::span<Tensor> grads, const Tensor& A, const Tensor& sign) {
  const Tensor &gs = grads[0], &gl = grads[1];
  if (!A.is_complex()) return gl.defined() ? scaled_inverse_adjoint(A, gl) : zeros_like_grad(A);
  Tensor rotated = gs.defined() ? imag_part(conj(gs) * sign) * Scalar(std::complex<double>(0, -1)) : Tensor();
  return scaled_inverse_adjoint(A, to_dtype(self_t_plus(gl, rotated), A.dtype()));
}
Tensor slogdet_sign_jvp(const Tensor& A_t, const Tensor& A, const Tensor& sign) {
  if (!A.is_complex()) return zeros_like_grad(sign);
  return imag_part(trace_of(solve_unchecked(A, A_t, true))) * Scalar(std::complex<double>(0, 1)) * sign;
}
Tensor slogdet_size_jvp(const Tensor& A_t, const Tensor& A) {
  return real_part(trace_of(solve_unchecked(A, A_t, true)));
}

Tensor logdet_composite(const Tensor& self) {
  fwd::check_square(self, "linalg.slogdet");
  auto [sign, size] = linalg_slogdet(self);
  if (self.is_complex()) return log(sign) + size;
  return where(eq(sign, Scalar(-1)), Scalar(std::numeric_limits<double>::quiet_NaN()), size);
}

// A = L L^H: with P(X) = tril(X) minus half its diagonal, dL = L P(L^-1 dA L^-H), and gA = L^-H s(tril(L^H gL)) L^-1 /
// 2, where s adds the adjoint of the strict triangle.
Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper) {
  Tensor L = upper ? adjoint_of(factor) : factor, g = upper ? adjoint_of(grad) : grad;
  Tensor inner = tril(matmul(adjoint_of(L), g), 0);
  inner = (inner + adjoint_of(tril(inner, -1))) * Scalar(0.5);
  Tensor left = linalg_solve_triangular(adjoint_of(L), inner, true, true, false);
  return linalg_solve_triangular(L, left, false, false, false);
}
Tensor cholesky_jvp(const Tensor& self_t, const Tensor& factor, bool upper) {
  Tensor L = upper ? adjoint_of(factor) : factor;
  Tensor inner = linalg_solve_triangular(adjoint_of(L), linalg_solve_triangular(L, self_t, false, true, false), true,
                                         false, false);
  inner = tril(inner, 0) - diagonal_matrix(diagonal(inner, 0, -2, -1)) * Scalar(0.5);
  Tensor out = matmul(L, inner);
  return upper ? adjoint_of(out) : out;
}
Tensor cholesky_composite(const Tensor& self, bool upper) {
  auto [L, info] = linalg_cholesky_ex(self, upper, false);
  show_check(info, "linalg.cholesky");
  LinalgFailure bad = fwd::first_failure(info);
  UT_CHECK_AS(LinAlg, !bad, "linalg.cholesky: ", fwd::batch_text(info, bad),
              "The factorization could not be completed because the input is not positive-definite (the leading minor "
              "of order ",
              bad.info, " is not positive-definite).");
  return L;
}
namespace {
// dA of A = L L^H, or of U^H U.
Tensor changed_product(const Tensor& factor, const Tensor& factor_t, bool upper) {
  Tensor half = upper ? matmul(adjoint_of(factor_t), factor) : matmul(factor_t, adjoint_of(factor));
  return half + adjoint_of(half);
}
// The gradient of the factor from twice the Hermitian part of gA, which is `both`.
Tensor to_factor(const Tensor& both, const Tensor& factor, bool upper) {
  return upper ? matmul(factor, both) : matmul(both, factor);
}
}  // namespace

// A X = B: gA = -gB X^H with gB = A^-1 gX. A^-1 = K: gA = -K gK K.
Tensor cholesky_solve_backward(const Tensor& grad, const Tensor& factor, const Tensor& result, bool upper) {
  Tensor half = matmul(cholesky_solve(grad, factor, upper), adjoint_of(result));
  return -to_factor(half + adjoint_of(half), factor, upper);
}
Tensor cholesky_solve_jvp(const Tensor& self_t, const Tensor& factor, const Tensor& factor_t, const Tensor& result,
                          bool upper) {
  Tensor moved = factor_t.defined() ? matmul(changed_product(factor, factor_t, upper), result) : Tensor();
  return cholesky_solve(minus_defined(self_t, moved), factor, upper);
}
Tensor cholesky_inverse_backward(const Tensor& grad, const Tensor& factor, const Tensor& result, bool upper) {
  return -to_factor(matmul(result, matmul(grad + adjoint_of(grad), result)), factor, upper);
}
Tensor cholesky_inverse_jvp(const Tensor& factor_t, const Tensor& factor, const Tensor& result, bool upper) {
  return -matmul(result, matmul(changed_product(factor, factor_t, upper), result));
}

Tensor tensorinv_composite(const Tensor& self, int64_t ind) {
  UT_CHECK(ind > 0, "Expected a strictly positive integer for 'ind', got ", ind);
  int64_t rows = 1, columns = 1;
  Dims shape;
  for (int64_t d = ind; d < self.dim(); d++) shape.push_back(self.size(d)), columns *= self.size(d);
  for (int64_t d = 0; d < std::min(ind, self.dim()); d++) shape.push_back(self.size(d)), rows *= self.size(d);
  UT_CHECK(rows == columns,
           "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ",
           columns, " != ", rows);
  return reshape(inv_composite(reshape(self, Dims{rows, columns})), shape);
}
Tensor tensorsolve_composite(const Tensor& self, const Tensor& other, const std::optional<IntSpan>& dims) {
  Tensor a = self;
  if (dims) {
    Dims order, last;
    uint64_t moved = dim_mask(*dims, a.dim(), false);
    for (int64_t d = 0; d < a.dim(); d++)
      if (!(moved >> d & 1)) order.push_back(d);
    for (int64_t d : *dims) order.push_back(wrap_dim(d, a.dim()));
    a = permute(a, order);
  }
  Dims shape;
  int64_t columns = 1, rows = other.numel();
  for (int64_t d = other.dim(); d < a.dim(); d++) shape.push_back(a.size(d)), columns *= a.size(d);
  UT_CHECK(columns == rows,
           "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
           "but got ",
           columns, " != ", rows);
  return reshape(solve_composite(reshape(a, Dims{rows, columns}), reshape(other, Dims{rows}), true), shape);
}

Tensor vander_composite(const Tensor& x, std::optional<int64_t> n) {
  UT_CHECK(x.dtype() != DType::Bool, "linalg.vander: Expected a numeric tensor, but got Bool");
  if (x.dim() == 0) return vander_composite(unsqueeze(x, 0), n);
  int64_t count = n.value_or(x.size(-1));
  UT_CHECK(!n || *n > 1, "N must be greater than 1.");
  DType t = is_integral(x.dtype()) ? DType::Int64 : x.dtype();
  Dims shape(x.sizes());
  shape.push_back(1);
  Tensor powers = cumprod(expand(unsqueeze(to_dtype(x, t), -1), fwd::joined(x.sizes(), {count - 1})), -1, std::nullopt);
  Tensor parts[] = {fwd::full_on_device_of(x, shape, Scalar(1), t), powers};
  return cat(TensorSpan(parts, 2), -1);
}

}  // namespace undertow::core::ops
