// spectral.cpp: forward functions of ops/linalg_spectral.toml: QR, eigenvalues and singular values.
// build: small
#include "core/forward/linalg/batch.h"
#include "generated/fwd_linalg_spectral.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  check_matrix(A, "linalg.qr");
  check_inexact(A, "linalg.qr");
  UT_CHECK(mode == "reduced" || mode == "complete" || mode == "r", "qr received unrecognized mode '", mode,
           "' but expected one of 'reduced' (default), 'r', or 'complete'");
  int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n), columns = mode == "complete" ? m : k, rows = columns;
  Tensor Q = mode == "r" ? empty_on_device_of(A, Dims{0}, A.dtype())
                         : empty_columns(A, joined(batch_of(A), {m, columns}), A.dtype()),
         R = empty_columns(A, joined(batch_of(A), {rows, n}), A.dtype());
  backend_of(A).linalg->qr(Q, R, copy_columns(A), mode != "r");
  return {Q, R};
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  UT_CHECK(self.dim() >= 2, "undertow.geqrf: input must have at least 2 dimensions.");
  check_inexact(self, "geqrf");
  int64_t k = std::min(self.size(-2), self.size(-1));
  Tensor a = copy_columns(self), tau = empty_on_device_of(self, joined(batch_of(self), {k}), self.dtype());
  backend_of(a).linalg->reflections(a, tau);
  return {a, tau};
}

std::tuple<Tensor, Tensor> _linalg_eigh(const Tensor& A, std::string_view UPLO, bool compute_v) {
  check_square(A, "linalg.eigh");
  check_inexact(A, "linalg.eigh");
  bool lower = UPLO == "L" || UPLO == "l";
  UT_CHECK(lower || UPLO == "U" || UPLO == "u", "Expected UPLO argument to be 'L' or 'U', but got ", UPLO);
  int64_t n = A.size(-1);
  // The upper triangle of a Hermitian matrix is the lower one of its adjoint.
  Tensor source = A;
  if (!lower) {
    source = transpose(A, -2, -1);
    if (A.is_complex()) source = conj(source);
  }
  Tensor vectors = copy_columns(source), values = empty_on_device_of(A, joined(batch_of(A), {n}), to_real(A.dtype()));
  backend_of(A).linalg->eigh(values, vectors, compute_v);
  return {values, compute_v ? vectors : empty_on_device_of(A, Dims{0}, A.dtype())};
}

std::tuple<Tensor, Tensor> linalg_eig(const Tensor& self) {
  check_square(self, "linalg.eig");
  check_inexact(self, "linalg.eig");
  int64_t n = self.size(-1);
  DType complex = to_complex(self.dtype());
  Tensor work = empty_columns(self, self.sizes(), complex), vectors = empty_columns(self, self.sizes(), complex),
         values = empty_on_device_of(self, joined(batch_of(self), {n}), complex);
  copy_into(work, self);
  backend_of(work).linalg->eig(values, vectors, work);
  return {values, vectors};
}

std::tuple<Tensor, Tensor, Tensor> _linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv,
                                               std::optional<std::string_view> driver) {
  check_matrix(A, "linalg.svd");
  check_inexact(A, "linalg.svd");
  UT_CHECK(!driver,
           "undertow.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
  int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  Tensor none = empty_on_device_of(A, Dims{0}, A.dtype()),
         S = empty_on_device_of(A, joined(batch_of(A), {k}), to_real(A.dtype()));
  Tensor U = none, Vh = none;
  // For a wide matrix, the adjoint is decomposed: A^H = V S U^H.
  bool wide = n > m;
  int64_t rows = wide ? n : m, columns = full_matrices ? rows : k;
  Tensor source = A;
  if (wide) {
    source = transpose(A, -2, -1);
    if (A.is_complex()) source = conj(source);
  }
  Tensor work = copy_columns(source), left, right;
  if (compute_uv) {
    left = empty_columns(A, joined(batch_of(A), {rows, columns}), A.dtype());
    right = empty_columns(A, joined(batch_of(A), {k, k}), A.dtype());
  }
  backend_of(A).linalg->svd(S, left, right, work);
  if (compute_uv) {
    U = wide ? right : left;
    Vh = transpose(wide ? left : right, -2, -1);
    if (A.is_complex()) Vh = materialize_bits(conj(Vh));
  }
  return {U, S, Vh};
}

}  // namespace undertow::core::fwd
