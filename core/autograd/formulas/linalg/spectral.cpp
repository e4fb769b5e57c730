// spectral.cpp: see spectral.h: derivatives of QR, eigenvalues and singular values. X^H is the adjoint of X.
// build: small
#include "core/autograd/delegated/batched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/recording.h"
#include "core/forward/copy/elements.h"
#include "core/forward/linalg/batch.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

namespace {

const std::complex<double> kI(0, 1);

Tensor columns(const Tensor& t, int64_t count) { return t.size(-1) == count ? t : narrow(t, -1, 0, count); }
Tensor rows(const Tensor& t, int64_t count) { return t.size(-2) == count ? t : narrow(t, -2, 0, count); }
Tensor as_row(const Tensor& v) { return unsqueeze(v, -2); }
Tensor as_column(const Tensor& v) { return unsqueeze(v, -1); }
// v_j - v_i, with ones on the diagonal, which is not used as a divisor.
Tensor gaps(const Tensor& v) { return as_row(v) - as_column(v) + eye(v.size(-1), v.dtype(), v.device()); }
Tensor without_diagonal(const Tensor& t) { return t - diagonal_matrix(diagonal(t, 0, -2, -1)); }
// For operators that return only values: will their derivative, which also needs vectors, be computed?
bool will_differentiate(const Tensor& t) {
  uint32_t flags = flags_of(batched::physical(t));
  return wants_record(flags) || (flags & kHasTangent);
}

void check_qr_mode(const Tensor& Q, const Tensor& R, std::string_view mode) {
  UT_CHECK(mode != "r",
           "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
           "mode='reduced') if you are going to require gradients");
  UT_CHECK(mode != "complete" || Q.size(-2) <= R.size(-1),
           "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
}
// X + X^H for an upper triangular X, with the real part of the diagonal counted once.
Tensor mirrored(const Tensor& x) { return x + adjoint_of(x) - diagonal_matrix(real_part(diagonal(x, 0, -2, -1))); }
Tensor divide_right(const Tensor& b, const Tensor& upper) {
  return linalg_solve_triangular(upper, b, true, false, false);
}

}  // namespace

// Q R = A with at least as many rows as columns: gA = (gQ + Q m(triu(gR R^H - Q^H gQ))) R^-H. A wide A = [A1 A2] has R2
// = Q^H A2, so gA2 = Q gR2, and gQ also gets A2 gR2^H = Q R2 gR2^H.
Tensor qr_backward(std::span<Tensor> grads, const Tensor& Q, const Tensor& R, std::string_view mode) {
  check_qr_mode(Q, R, mode);
  int64_t k = Q.size(-1), n = R.size(-1);
  Tensor gQ = grads[0], gR = grads[1], square = columns(R, k), extra;
  if (n > k) {
    if (gR.defined()) {
      Tensor g2 = narrow(gR, -1, k, n - k);
      extra = matmul(Q, g2);
      gQ = self_t_plus(gQ, matmul(Q, matmul(narrow(R, -1, k, n - k), adjoint_of(g2))));
      gR = columns(gR, k);
    } else {
      extra = fwd::zeros_on_device_of(Q, fwd::joined(fwd::batch_of(Q), {Q.size(-2), n - k}), Q.dtype());
    }
  }
  Tensor inner = self_t_plus(gR.defined() ? matmul(gR, adjoint_of(square)) : Tensor(),
                             gQ.defined() ? -matmul(adjoint_of(Q), gQ) : Tensor());
  Tensor g = self_t_plus(gQ, matmul(Q, mirrored(triu(inner, 0))));
  g = linalg_solve_triangular(adjoint_of(square), g, false, false, false);
  if (!extra.defined()) return g;
  Tensor parts[] = {g, extra};
  return cat(TensorSpan(parts, 2), -1);
}

namespace {
// dR R^-1 of the square part: Q^H dA R^-1 = Q^H dQ + dR R^-1, the sum of a skew matrix and an upper triangular one with
// a real diagonal.
struct QrTangent {
  Tensor inner, upper;
};
QrTangent qr_tangent(const Tensor& A_t, const Tensor& Q, const Tensor& R) {
  int64_t k = Q.size(-1);
  Tensor inner = divide_right(columns(A_t, k), columns(R, k)), projected = matmul(adjoint_of(Q), inner);
  Tensor both = projected + adjoint_of(projected);
  return {inner, triu(both, 0) - diagonal_matrix(diagonal(both, 0, -2, -1)) * Scalar(0.5)};
}
}  // namespace

Tensor qr_jvp_q(const Tensor& A_t, const Tensor& Q, const Tensor& R, std::string_view mode) {
  check_qr_mode(Q, R, mode);
  QrTangent t = qr_tangent(A_t, Q, R);
  return t.inner - matmul(Q, t.upper);
}
Tensor qr_jvp_r(const Tensor& A_t, const Tensor& Q, const Tensor& R, std::string_view mode) {
  check_qr_mode(Q, R, mode);
  int64_t k = Q.size(-1), n = R.size(-1);
  QrTangent t = qr_tangent(A_t, Q, R);
  Tensor square = matmul(t.upper, columns(R, k));
  if (n == k) return square;
  Tensor dQ = t.inner - matmul(Q, t.upper);
  Tensor parts[] = {square, matmul(adjoint_of(Q), narrow(A_t, -1, k, n - k) - matmul(dQ, narrow(R, -1, k, n - k)))};
  return cat(TensorSpan(parts, 2), -1);
}

namespace {
// The vector v of reflection i: zeros, a one, and the part of column i below the diagonal.
Tensor reflection_vector(const Tensor& input, int64_t i) {
  int64_t m = input.size(-2);
  Tensor below = slice(select(input, -1, i), -1, i + 1, m, 1);
  Dims head = fwd::joined(fwd::batch_of(input), {i}), one = fwd::joined(fwd::batch_of(input), {1});
  Tensor parts[] = {fwd::zeros_on_device_of(input, head, input.dtype()),
                    fwd::full_on_device_of(input, one, Scalar(1), input.dtype()), below};
  return as_column(cat(TensorSpan(parts, 3), -1));
}
// (I - factor v v^H) x
Tensor reflected(const Tensor& x, const Tensor& v, const Tensor& factor) {
  return x - as_column(as_column(factor)) * matmul(v, matmul(adjoint_of(v), x));
}
}  // namespace

Tensor householder_product_composite(const Tensor& input, const Tensor& tau) {
  UT_CHECK(input.dim() >= 2, "undertow.linalg.householder_product: input must have at least 2 dimensions.");
  UT_CHECK(input.size(-2) >= input.size(-1),
           "undertow.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]");
  UT_CHECK(input.size(-1) >= tau.size(-1),
           "undertow.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]");
  UT_CHECK(input.dim() - tau.dim() == 1,
           "undertow.linalg.householder_product: Expected tau to have one dimension less than input, but got tau.ndim "
           "equal to ",
           tau.dim(), " and input.ndim is equal to ", input.dim());
  UT_CHECK(tau.dtype() == input.dtype(), "undertow.linalg.householder_product: tau dtype ", tau.dtype(),
           " does not match input dtype ", input.dtype());
  Tensor out = expand(eye(input.size(-2), input.size(-1), input.dtype(), input.device()), input.sizes());
  for (int64_t i = tau.size(-1) - 1; i >= 0; i--) out = reflected(out, reflection_vector(input, i), select(tau, -1, i));
  return out;
}
// Q = H_0 H_1 ...: Q x applies the last factor first; Q^H x applies the first one first, each with conj(tau).
// x Q is (Q^H x^H)^H.
Tensor ormqr_composite(const Tensor& self, const Tensor& tau, const Tensor& other, bool left, bool transposed) {
  UT_CHECK(self.dim() >= 2, "undertow.ormqr: input must have at least 2 dimensions.");
  UT_CHECK(other.dim() >= 2, "undertow.ormqr: other must have at least 2 dimensions.");
  UT_CHECK(other.size(left ? -2 : -1) >= tau.size(-1), "undertow.ormqr: other.shape[", left ? -2 : -1,
           "] must be greater than or equal to tau.shape[-1]");
  UT_CHECK(other.size(left ? -2 : -1) == self.size(-2), "undertow.ormqr: other.shape[", left ? -2 : -1,
           "] must be equal to input.shape[-2]");
  UT_CHECK(self.dim() - tau.dim() == 1,
           "undertow.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to ", tau.dim(),
           " and input.ndim is equal to ", self.dim());
  UT_CHECK(tau.size(-1) <= std::min(self.size(-2), self.size(-1)),
           "undertow.ormqr: tau.shape[-1] must be equal to min(other.shape[", left ? -2 : -1,
           "], input.shape[-1]), got ", tau.size(-1), " for input of size ", ShapeText{self.sizes()});
  if (!left) return adjoint_of(ormqr_composite(self, tau, adjoint_of(other), true, !transposed));
  Tensor out = other;
  int64_t k = tau.size(-1);
  for (int64_t step = 0; step < k; step++) {
    int64_t i = transposed ? step : k - 1 - step;
    Tensor factor = select(tau, -1, i);
    out = reflected(out, reflection_vector(self, i), transposed ? conj(factor) : factor);
  }
  return out;
}

namespace {
void check_phase(const Tensor& projected, const char* name) {
  // Different samples of a vmap may differ in the answer, and tensors without elements have no elements.
  if (!projected.is_complex() || batched::is_batched(projected) || !fwd::has_elements(projected)) return;
  Tensor phase = imag_part(diagonal(detach(projected), 0, -2, -1));
  UT_CHECK(item(all(lt(abs(phase), Scalar(1e-2)))).to<bool>(), name,
           ": The eigenvectors in the complex case are specified up to multiplication by e^{i phi}. "
           "The specified loss function depends on this quantity, so it is ill-defined.");
}
}  // namespace

// dL_i = (V^H dA V)_ii, V^H dV = (V^H dA V)_ij / (L_j - L_i) off the diagonal.
Tensor eigh_backward(std::span<Tensor> grads, const Tensor& values, const Tensor& vectors) {
  const Tensor &gL = grads[0], &gV = grads[1];
  if (!gV.defined()) return matmul(vectors * as_row(gL), adjoint_of(vectors));
  Tensor projected = matmul(adjoint_of(vectors), gV);
  check_phase(projected, "linalg_eigh_backward");
  // Only Hermitian changes of A are allowed, so the gradient is the Hermitian part.
  Tensor inner = without_diagonal(projected) / gaps(values);
  inner = (inner + adjoint_of(inner)) * Scalar(0.5);
  if (gL.defined()) inner = inner + diagonal_matrix(gL);
  return matmul(vectors, matmul(inner, adjoint_of(vectors)));
}
Tensor eigh_values_jvp(const Tensor& A_t, const Tensor& vectors) {
  return real_part(diagonal(matmul(adjoint_of(vectors), matmul(A_t, vectors)), 0, -2, -1));
}
Tensor eigh_vectors_jvp(const Tensor& A_t, const Tensor& values, const Tensor& vectors) {
  Tensor projected = matmul(adjoint_of(vectors), matmul(A_t, vectors));
  return matmul(vectors, without_diagonal(projected) / gaps(values));
}
Tensor eigvalsh_composite(const Tensor& self, std::string_view uplo) {
  return std::get<0>(_linalg_eigh(self, uplo, will_differentiate(self)));
}

// A V = V L with columns of length one: V^-1 dV = (V^-1 dA V)_ij / (L_j - L_i), minus what would change the length or
// the phase. gA = V^-H (diag(gL) + (V^H gV - V^H V diag(Re diag(V^H gV))) / conj(L_j - L_i)) V^H.
Tensor eig_backward(std::span<Tensor> grads, const Tensor& values, const Tensor& vectors) {
  const Tensor &gL = grads[0], &gV = grads[1];
  Tensor inner;
  if (gV.defined()) {
    Tensor projected = matmul(adjoint_of(vectors), gV);
    check_phase(projected, "linalg_eig_backward");
    Tensor length = matmul(adjoint_of(vectors), vectors) * as_row(real_part(diagonal(projected, 0, -2, -1)));
    inner = without_diagonal(projected - length) / conj(gaps(values));
  }
  if (gL.defined()) inner = self_t_plus(inner, diagonal_matrix(gL));
  return solve_unchecked(adjoint_of(vectors), matmul(inner, adjoint_of(vectors)), true);
}
Tensor eig_values_jvp(const Tensor& A_t, const Tensor& vectors) {
  Tensor dA = to_dtype(A_t, vectors.dtype());
  return diagonal(solve_unchecked(vectors, matmul(dA, vectors), true), 0, -2, -1);
}
Tensor eig_vectors_jvp(const Tensor& A_t, const Tensor& values, const Tensor& vectors) {
  Tensor dA = to_dtype(A_t, vectors.dtype());
  Tensor moved = matmul(vectors, without_diagonal(solve_unchecked(vectors, matmul(dA, vectors), true)) / gaps(values));
  return moved - vectors * as_row(real_part(diagonal(matmul(adjoint_of(vectors), moved), 0, -2, -1)));
}
Tensor eigvals_composite(const Tensor& self) { return std::get<0>(linalg_eig(self)); }

// With F_ij = 1 / (s_j^2 - s_i^2) off the diagonal: gA = U ((F (U^H gU - gU^H U)) S + S (F (V^H gV - gV^H V)) +
// diag(gS)) V^H, plus the parts of gU and gV orthogonal to U and V, divided by S. Complex phases: i Im diag(U^H gU) / S
// on the diagonal.
Tensor svd_backward(std::span<Tensor> grads, const Tensor& U_, const Tensor& S, const Tensor& Vh_) {
  UT_CHECK(U_.dim() >= 2, "svd: the derivative needs U and V: call it with compute_uv=True");
  int64_t k = S.size(-1), m = U_.size(-2), n = Vh_.size(-1);
  Tensor U = columns(U_, k), Vh = rows(Vh_, k), gS = grads[1];
  Tensor gU = grads[0].defined() ? columns(grads[0], k) : Tensor(),
         gVh = grads[2].defined() ? rows(grads[2], k) : Tensor();
  if (!gU.defined() && !gVh.defined()) return m >= n ? matmul(U, as_column(gS) * Vh) : matmul(U * as_row(gS), Vh);
  Tensor square = S * S, gap = gaps(square), inner;
  Tensor u_turned = gU.defined() ? matmul(adjoint_of(U), gU) : Tensor(),
         v_turned = gVh.defined() ? matmul(Vh, adjoint_of(gVh)) : Tensor();
  if (U.is_complex() && !batched::is_batched(gU) && !batched::is_batched(gVh) && fwd::has_elements(U)) {
    Tensor phase = self_t_plus(u_turned.defined() ? imag_part(diagonal(detach(u_turned), 0, -2, -1)) : Tensor(),
                               v_turned.defined() ? imag_part(diagonal(detach(v_turned), 0, -2, -1)) : Tensor());
    UT_CHECK(item(all(lt(abs(phase), Scalar(1e-2)))).to<bool>(),
             "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. "
             "The specified loss function depends on this phase term, making it ill-defined.");
  }
  if (gU.defined()) inner = minus_adjoint(u_turned) / gap * as_row(S);
  if (gVh.defined()) inner = self_t_plus(inner, as_column(S) * (minus_adjoint(v_turned) / gap));
  inner = without_diagonal(inner);
  if (gS.defined()) inner = inner + diagonal_matrix(gS);
  if (U.is_complex() && gU.defined())
    inner = inner + diagonal_matrix(imag_part(diagonal(u_turned, 0, -2, -1)) / S) * Scalar(kI);
  Tensor out = matmul(U, matmul(inner, Vh));
  if (m > k && gU.defined()) out = out + matmul((gU - matmul(U, u_turned)) / as_row(S), Vh);
  if (n > k && gVh.defined()) out = out + matmul(U / as_row(S), gVh - matmul(adjoint_of(v_turned), Vh));
  return out;
}

namespace {
// U^H dA V, with the size of S.
Tensor svd_inner(const Tensor& A_t, const Tensor& U, const Tensor& Vh) {
  return matmul(adjoint_of(U), matmul(A_t, adjoint_of(Vh)));
}
void check_svd_tangent(const Tensor& U, const Tensor& S, const Tensor& Vh) {
  UT_CHECK(U.size(-1) == S.size(-1) && Vh.size(-2) == S.size(-1),
           "svd: forward mode needs full_matrices=False for matrices that are not square");
}
}  // namespace

Tensor svd_values_jvp(const Tensor& A_t, const Tensor& U, const Tensor& S, const Tensor& Vh) {
  return real_part(diagonal(svd_inner(A_t, columns(U, S.size(-1)), rows(Vh, S.size(-1))), 0, -2, -1));
}
Tensor svd_left_jvp(const Tensor& A_t, const Tensor& U, const Tensor& S, const Tensor& Vh) {
  check_svd_tangent(U, S, Vh);
  Tensor inner = svd_inner(A_t, U, Vh);
  Tensor rotation = without_diagonal(inner * as_row(S) + as_column(S) * adjoint_of(inner)) / gaps(S * S);
  if (U.is_complex()) rotation = rotation + diagonal_matrix(imag_part(diagonal(inner, 0, -2, -1)) / S) * Scalar(kI);
  Tensor out = matmul(U, rotation);
  if (U.size(-2) == S.size(-1)) return out;
  Tensor moved = matmul(A_t, adjoint_of(Vh));
  return out + (moved - matmul(U, inner)) / as_row(S);
}
Tensor svd_right_jvp(const Tensor& A_t, const Tensor& U, const Tensor& S, const Tensor& Vh) {
  check_svd_tangent(U, S, Vh);
  Tensor inner = svd_inner(A_t, U, Vh);
  Tensor rotation = without_diagonal(as_column(S) * inner + adjoint_of(inner) * as_row(S)) / gaps(S * S);
  Tensor out = matmul(adjoint_of(rotation), Vh);
  if (Vh.size(-1) == S.size(-1)) return out;
  Tensor moved = matmul(adjoint_of(U), A_t);
  return out + (moved - matmul(inner, Vh)) / as_column(S);
}
Tensor svdvals_composite(const Tensor& A, std::optional<std::string_view> driver) {
  return std::get<1>(_linalg_svd(A, false, will_differentiate(A), driver));
}
std::tuple<Tensor, Tensor, Tensor> svd_composite(const Tensor& self, bool some, bool compute_uv) {
  UT_CHECK(self.dim() >= 2, "linalg.svd: input should have at least 2 dimensions, but has ", self.dim(),
           " dimensions instead");
  if (!compute_uv) {
    Dims u = fwd::joined(fwd::batch_of(self), {self.size(-2), self.size(-2)}),
         v = fwd::joined(fwd::batch_of(self), {self.size(-1), self.size(-1)});
    return {fwd::zeros_on_device_of(self, u, self.dtype()), svdvals_composite(self, std::nullopt),
            fwd::zeros_on_device_of(self, v, self.dtype())};
  }
  auto [U, S, Vh] = _linalg_svd(self, !some, true, std::nullopt);
  return {U, S, adjoint_of(Vh)};
}

}  // namespace undertow::core::ops
