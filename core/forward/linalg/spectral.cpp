// spectral.cpp: forward functions of ops/linalg_spectral.toml: QR, eigenvalues and singular values.
// build: small
#include <cmath>

#include "core/forward/linalg/batch.h"
#include "generated/fwd_linalg_spectral.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

namespace {

// "full 2 by 2" batches of matrices of any size have leading dimensions of at least one.
int64_t lead(int64_t rows) { return std::max<int64_t>(1, rows); }

void check_finished(bool converged, const Tensor& values, int64_t i, const char* name) {
  UT_CHECK_AS(
      LinAlg, converged, name, ": ", values.dim() > 1 ? str("(Batch element ", i, "): ") : std::string(),
      "The algorithm failed to converge because the input matrix contained non-finite values or is ill-conditioned.");
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  check_matrix(A, "linalg.qr");
  check_inexact(A, "linalg.qr");
  UT_CHECK(mode == "reduced" || mode == "complete" || mode == "r", "qr received unrecognized mode '", mode,
           "' but expected one of 'reduced' (default), 'r', or 'complete'");
  int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n), columns = mode == "complete" ? m : k, rows = columns;
  Tensor Q =
      mode == "r" ? undertow::empty(Dims{0}, A.dtype()) : empty_columns(joined(batch_of(A), {m, columns}), A.dtype());
  Tensor R = empty_columns(joined(batch_of(A), {rows, n}), A.dtype()), work = copy_columns(A);
  dispatch_inexact(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(product(batch_of(A)), m * n * k, [&](int64_t b) {
      std::vector<T> tau(static_cast<size_t>(k));
      T* a = work.data_as<T>() + b * m * n;
      cpu::qr_factor(m, n, a, lead(m), tau.data());
      T* r = R.data_as<T>() + b * rows * n;
      for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < rows; i++) r[i + j * rows] = i <= j && i < k ? a[i + j * m] : T(0);
      if (mode == "r") return;
      T* q = Q.data_as<T>() + b * m * columns;
      std::copy_n(a, m * k, q);
      cpu::form_q(m, columns, k, q, lead(m), tau.data());
    });
  });
  return {Q, R};
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  UT_CHECK(self.dim() >= 2, "undertow.geqrf: input must have at least 2 dimensions.");
  check_inexact(self, "geqrf");
  int64_t m = self.size(-2), n = self.size(-1), k = std::min(m, n);
  Tensor a = copy_columns(self), tau = undertow::empty(joined(batch_of(self), {k}), self.dtype());
  dispatch_inexact(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(product(batch_of(self)), m * n * k, [&](int64_t b) {
      cpu::qr_factor(m, n, a.data_as<T>() + b * m * n, lead(m), tau.data_as<T>() + b * k);
    });
  });
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
  Tensor vectors = copy_columns(source), values = undertow::empty(joined(batch_of(A), {n}), to_real(A.dtype()));
  dispatch_inexact(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(product(batch_of(A)), n * n * n, [&](int64_t b) {
      bool done =
          cpu::eigh(n, vectors.data_as<T>() + b * n * n, lead(n), values.data_as<RealOf<T>>() + b * n, compute_v);
      check_finished(done, values, b, "linalg.eigh");
    });
  });
  return {values, compute_v ? vectors : undertow::empty(Dims{0}, A.dtype())};
}

std::tuple<Tensor, Tensor> linalg_eig(const Tensor& self) {
  check_square(self, "linalg.eig");
  check_inexact(self, "linalg.eig");
  int64_t n = self.size(-1);
  DType complex = to_complex(self.dtype());
  Tensor work = empty_columns(self.sizes(), complex), vectors = empty_columns(self.sizes(), complex),
         values = undertow::empty(joined(batch_of(self), {n}), complex);
  copy_into(work, self);
  auto each = [&](auto tag) {
    using R = typename decltype(tag)::type;
    using T = std::complex<R>;
    for_each_matrix(product(batch_of(self)), n * n * n * 8, [&](int64_t b) {
      T* a = work.data_as<T>() + b * n * n;
      bool finite = true;
      for (int64_t i = 0; i < n * n; i++) finite = finite && std::isfinite(a[i].real()) && std::isfinite(a[i].imag());
      UT_CHECK(finite, "undertow.linalg.eig: input tensor should not contain infs or NaNs.");
      check_finished(cpu::eig<R>(n, a, lead(n), values.data_as<T>() + b * n, vectors.data_as<T>() + b * n * n, lead(n)),
                     values, b, "linalg.eig");
    });
  };
  if (complex == DType::Complex64)
    each(TypeTag<float>{});
  else
    each(TypeTag<double>{});
  return {values, vectors};
}

std::tuple<Tensor, Tensor, Tensor> _linalg_svd(const Tensor& A, bool full_matrices, bool compute_uv,
                                               std::optional<std::string_view> driver) {
  check_matrix(A, "linalg.svd");
  check_inexact(A, "linalg.svd");
  UT_CHECK(!driver,
           "undertow.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
  int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  Tensor none = undertow::empty(Dims{0}, A.dtype()), S = undertow::empty(joined(batch_of(A), {k}), to_real(A.dtype()));
  Tensor U = none, Vh = none;
  // Of a wide matrix the adjoint is taken: A^H = V S U^H.
  bool wide = n > m;
  int64_t rows = wide ? n : m, columns = full_matrices ? rows : k;
  Tensor source = A;
  if (wide) {
    source = transpose(A, -2, -1);
    if (A.is_complex()) source = conj(source);
  }
  Tensor work = copy_columns(source), left = none, right = none;
  if (compute_uv) {
    left = empty_columns(joined(batch_of(A), {rows, columns}), A.dtype());
    right = empty_columns(joined(batch_of(A), {k, k}), A.dtype());
  }
  dispatch_inexact(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(product(batch_of(A)), rows * k * k * 8, [&](int64_t b) {
      T *u = compute_uv ? left.data_as<T>() + b * rows * columns : nullptr,
        *v = compute_uv ? right.data_as<T>() + b * k * k : nullptr;
      check_finished(cpu::svd(rows, k, work.data_as<T>() + b * rows * k, lead(rows), S.data_as<RealOf<T>>() + b * k, u,
                              lead(rows), columns, v, lead(k)),
                     S, b, "linalg.svd");
    });
  });
  if (compute_uv) {
    U = wide ? right : left;
    Vh = transpose(wide ? left : right, -2, -1);
    if (A.is_complex()) Vh = materialize_bits(conj(Vh));
  }
  return {U, S, Vh};
}

}  // namespace undertow::fwd
