// spectral_composites.cpp: see spectral.h: pseudoinverse, rank, condition, least squares, exponential.
// build: small
#include <cmath>

#include "core/autograd/delegated/batched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/forward/copy/copy.h"
#include "core/forward/copy/elements.h"
#include "core/forward/linalg/batch.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

Tensor number_of(std::optional<double> v) { return v ? fwd::full({}, Scalar(*v), DType::Float64, kCpu) : Tensor(); }

namespace {

struct Tolerances {
  Tensor atol, rtol;
};
// A zero-dimensional tensor moved to self's device.
Tensor number_on_device_of(const Tensor& self, const Tensor& number) {
  if (!number.defined() || number.dim() || number.device() == self.device()) return number;
  Tensor out = empty_on_device_of(self, {}, number.dtype());
  fwd::copy_into(out, number);
  return out;
}
// Default tolerances: an absolute one of zero, and a relative one of epsilon times the longer side. If a positive
// absolute one is given, the relative one is zero.
Tolerances tolerances(const Tensor& self, const Tensor& atol, const Tensor& rtol, const char* name) {
  fwd::check_matrix(self, name, "A");
  for (const Tensor* t : {&atol, &rtol})
    UT_CHECK(!t->defined() || !t->is_complex(), name, ": ", t == &atol ? "atol" : "rtol",
             " tensor of complex type is not supported. Got ", long_name((*t).dtype()));
  double eps = self.dtype() == DType::Float32 || self.dtype() == DType::Complex64 ? 0x1p-23 : 0x1p-52;
  Tolerances t{atol.defined() ? number_on_device_of(self, atol) : fwd::zeros_on_device_of(self, {}, DType::Float64),
               number_on_device_of(self, rtol)};
  if (rtol.defined()) return t;
  Tensor relative = fwd::full_on_device_of(
      self, {}, Scalar(eps * static_cast<double>(std::max(self.size(-1), self.size(-2)))), DType::Float64);
  t.rtol = atol.defined() ? where(gt(t.atol, Scalar(0)), Scalar(0.0), relative) : relative;
  return t;
}
void check_hermitian(const Tensor& self, bool hermitian, const char* name) {
  if (hermitian) fwd::check_square(self, name);
}

}  // namespace

Tensor pinv_composite(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  fwd::check_inexact(self, "linalg.pinv");
  Tolerances t = tolerances(self, atol, rtol, "linalg.pinv");
  check_hermitian(self, hermitian, "linalg.pinv");
  return _linalg_pinv(self, t.atol, t.rtol, hermitian);
}

// dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P  (Golub and Pereyra), and its adjoint.
Tensor pinv_backward(const Tensor& grad, const Tensor& pinv, const Tensor& A) {
  Tensor ph = adjoint_of(pinv), gh = adjoint_of(grad);
  Tensor tall = matmul(gh, matmul(pinv, ph)), wide = matmul(matmul(ph, pinv), gh);
  return -matmul(ph, matmul(grad, ph)) + (tall - matmul(A, matmul(pinv, tall))) +
         (wide - matmul(matmul(wide, pinv), A));
}
Tensor pinv_jvp(const Tensor& A_t, const Tensor& pinv, const Tensor& A) {
  Tensor ph = adjoint_of(pinv), dh = adjoint_of(A_t);
  Tensor tall = matmul(matmul(pinv, ph), dh), wide = matmul(dh, matmul(ph, pinv));
  return -matmul(pinv, matmul(A_t, pinv)) + (tall - matmul(matmul(tall, A), pinv)) +
         (wide - matmul(pinv, matmul(A, wide)));
}

Tensor matrix_rank_composite(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  fwd::check_inexact(self, "linalg.matrix_rank");
  Tolerances t = tolerances(self, atol, rtol, "linalg.matrix_rank");
  check_hermitian(self, hermitian, "linalg.matrix_rank");
  if (self.numel() == 0) return fwd::zeros_on_device_of(self, fwd::batch_of(self), DType::Int64);
  Tensor a = detach(self), values = hermitian ? abs(linalg_eigvalsh(a, "L")) : linalg_svdvals(a, std::nullopt);
  Tensor most = amax(values, Dims{-1}, true);
  Tensor limit = maximum(unsqueeze(t.atol, -1), unsqueeze(t.rtol, -1) * most);
  return sum(gt(values, limit), IntSpan(Dims{-1}), false, std::nullopt);
}

namespace {
void check_cond(const Tensor& self, const char* name) {
  fwd::check_matrix(self, name);
  fwd::check_square(self, name);
}
// The norm of A times the norm of its inverse; infinite for a singular A.
template <class P>
Tensor norm_product(const Tensor& self, const P& p) {
  const Dims last{-2, -1};
  auto [inverse, info] = linalg_inv_ex(self, false);
  Tensor product = matrix_norm_composite(self, p, last, false, std::nullopt) *
                   matrix_norm_composite(inverse, p, last, false, std::nullopt);
  Tensor singular = ne(info, Scalar(0));
  bool unknown = batched::is_batched(singular) || !fwd::has_elements(singular);
  if (!unknown && !item(any(singular)).to<bool>()) return product;
  return masked_fill(product, singular, Scalar(std::numeric_limits<double>::infinity()));
}
}  // namespace

Tensor cond_composite(const Tensor& self, const std::optional<Scalar>& p) {
  double order = p ? p->to_double() : 2, size = std::abs(order);
  UT_CHECK(size == 1 || size == 2 || std::isinf(size), "linalg.cond got an invalid norm type: ", order);
  fwd::check_inexact(self, "linalg.cond");
  if (self.dim() >= 2 && self.numel() == 0)
    return fwd::zeros_on_device_of(self, fwd::batch_of(self), to_real(self.dtype()));
  if (size != 2) {
    check_cond(self, "linalg.cond");
    return norm_product(self, *p);
  }
  fwd::check_matrix(self, "linalg.cond");
  Tensor values = linalg_svdvals(self, std::nullopt);
  Tensor greatest = select(values, -1, 0), least = select(values, -1, values.size(-1) - 1);
  return order > 0 ? greatest / least : least / greatest;
}
Tensor cond_composite(const Tensor& self, std::string_view p) {
  UT_CHECK(p == "fro" || p == "nuc", "linalg.cond got an invalid norm type: ", p);
  check_cond(self, "linalg.cond");
  if (self.numel() == 0) return fwd::zeros_on_device_of(self, fwd::batch_of(self), to_real(self.dtype()));
  if (p == "nuc") {
    Tensor values = linalg_svdvals(self, std::nullopt);  // those of the inverse are their reciprocals
    return sum(values, IntSpan(Dims{-1}), false, std::nullopt) *
           sum(reciprocal(values), IntSpan(Dims{-1}), false, std::nullopt);
  }
  return norm_product(self, p);
}

namespace {
// Right-hand sides as matrices, even if they were given as vectors.
struct LeastSquares {
  Tensor pinv, left_over, x;
  bool vector;
};
bool is_vector(const Tensor& A, const Tensor& B) { return B.dim() == A.dim() - 1; }
LeastSquares least_squares(const Tensor& A, const Tensor& B, const Tensor& X) {
  bool vector = is_vector(A, B);
  Tensor x = vector ? unsqueeze(X, -1) : X, b = vector ? unsqueeze(B, -1) : B;
  return {linalg_pinv(A, Tensor(), Tensor(), false), matmul(A, x) - b, x, vector};
}
}  // namespace

// X = A^+ B. The length of the residual is minimal at X, so it changes only by dA and dB: d|AX - B|^2 = 2 Re (AX - B)^H
// (dA X - dB).
Tensor lstsq_backward_matrix(std::span<Tensor> grads, const Tensor& A, const Tensor& B, const Tensor& X) {
  LeastSquares s = least_squares(A, B, X);
  Tensor out;
  if (grads[0].defined()) {
    Tensor g = s.vector ? unsqueeze(grads[0], -1) : grads[0], b = s.vector ? unsqueeze(B, -1) : B;
    out = pinv_backward(matmul(g, adjoint_of(b)), s.pinv, A);
  }
  if (grads[1].defined() && grads[1].numel())
    out = self_t_plus(out, matmul(s.left_over * unsqueeze(grads[1] * Scalar(2), -2), adjoint_of(s.x)));
  return out;
}
Tensor lstsq_backward_rhs(std::span<Tensor> grads, const Tensor& A, const Tensor& B, const Tensor& X) {
  LeastSquares s = least_squares(A, B, X);
  Tensor out;
  if (grads[0].defined()) out = matmul(adjoint_of(s.pinv), s.vector ? unsqueeze(grads[0], -1) : grads[0]);
  if (grads[1].defined() && grads[1].numel())
    out = self_t_plus(out, s.left_over * unsqueeze(grads[1] * Scalar(-2), -2));
  return out.defined() && s.vector ? squeeze(out, -1) : out;
}
Tensor lstsq_jvp(const Tensor& A, const Tensor& A_t, const Tensor& B, const Tensor& B_t, const Tensor& X) {
  LeastSquares s = least_squares(A, B, X);
  Tensor b = s.vector ? unsqueeze(B, -1) : B, out;
  if (A_t.defined()) out = matmul(pinv_jvp(A_t, s.pinv, A), b);
  if (B_t.defined()) out = self_t_plus(out, matmul(s.pinv, s.vector ? unsqueeze(B_t, -1) : B_t));
  return s.vector ? squeeze(out, -1) : out;
}

// exp([A E; 0 A]) = [exp(A) d; 0 exp(A)] with d the differential along E.
Tensor matrix_exp_differential(const Tensor& A, const Tensor& direction) {
  if (A.numel() == 0) return direction;
  int64_t n = A.size(-1);
  Tensor top[] = {A, direction}, bottom[] = {fwd::zeros_on_device_of(A, A.sizes(), A.dtype()), A};
  Tensor both[] = {cat(TensorSpan(top, 2), -1), cat(TensorSpan(bottom, 2), -1)};
  return narrow(narrow(linalg_matrix_exp(cat(TensorSpan(both, 2), -2)), -2, 0, n), -1, n, n);
}

}  // namespace undertow::core::ops
