// decompositions.cpp: see batches.h: QR, eigenvalues, singular values, and least squares with them.
// build: small
#include <cmath>
#include <vector>

#include "core/kernels/cpu/linalg/batch.h"
#include "core/kernels/cpu/linalg/batches.h"
#include "core/kernels/cpu/linalg/factorizations.h"
#include "core/tensor/dtype/dispatch.h"

namespace undertow::core::cpu {

namespace {

void check_finished(bool converged, const Tensor& values, int64_t i, const char* name) {
  UT_CHECK_AS(
      LinAlg, converged, name, ": ", values.dim() > 1 ? str("(Batch element ", i, "): ") : std::string(),
      "The algorithm failed to converge because the input matrix contained non-finite values or is ill-conditioned.");
}

}  // namespace

void batch_qr(const Tensor& Q, const Tensor& R, const Tensor& a, bool want_q) {
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), rows = R.size(-2), columns = rows;
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a), m * n * k, [&](int64_t b) {
      std::vector<T> tau(static_cast<size_t>(k));
      T* x = a.data_as<T>() + b * m * n;
      qr_factor(m, n, x, lead(m), tau.data());
      T* r = R.data_as<T>() + b * rows * n;
      for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < rows; i++) r[i + j * rows] = i <= j && i < k ? x[i + j * m] : T(0);
      if (!want_q) return;
      T* q = Q.data_as<T>() + b * m * columns;
      std::copy_n(x, m * k, q);
      form_q(m, columns, k, q, lead(m), tau.data());
    });
  });
}

void batch_reflections(const Tensor& a, const Tensor& tau) {
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a), m * n * k,
                    [&](int64_t b) { qr_factor(m, n, a.data_as<T>() + b * m * n, lead(m), tau.data_as<T>() + b * k); });
  });
}

void batch_eigh(const Tensor& values, const Tensor& a, bool vectors) {
  int64_t n = a.size(-1);
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(a), n * n * n, [&](int64_t b) {
      bool done = eigh(n, a.data_as<T>() + b * n * n, lead(n), values.data_as<RealOf<T>>() + b * n, vectors);
      check_finished(done, values, b, "linalg.eigh");
    });
  });
}

// Makes the eigenvalues of a real matrix exactly real or exactly conjugate pairs, the one above the real axis first, as
// its vectors: round-off leaves differences in the last place, and sorting would then exchange the two of a pair.
template <class T>
void pair_conjugates(int64_t n, T* values, T* vectors) {
  std::vector<bool> paired(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; k++) {
    if (paired[static_cast<size_t>(k)]) continue;
    int64_t other = k;  // a value is real if the conjugate is closest to itself
    auto nearest = std::abs(2 * values[k].imag());
    for (int64_t j = k + 1; j < n; j++)
      if (auto gap = std::abs(values[j] - std::conj(values[k])); !paired[static_cast<size_t>(j)] && gap < nearest)
        nearest = gap, other = j;
    if (other == k) {
      values[k] = values[k].real();
      continue;
    }
    paired[static_cast<size_t>(other)] = true;
    T *mine = vectors + k * n, *its = vectors + other * n;
    if (values[k].imag() < 0)
      for (int64_t i = 0; i < n; i++) mine[i] = std::conj(mine[i]);
    for (int64_t i = 0; i < n; i++) its[i] = std::conj(mine[i]);
    values[k] = T(values[k].real(), std::abs(values[k].imag()));
    values[other] = std::conj(values[k]);
  }
}

void batch_eig(const Tensor& values, const Tensor& vectors, const Tensor& work) {
  int64_t n = work.size(-1);
  auto each = [&](auto tag) {
    using R = typename decltype(tag)::type;
    using T = std::complex<R>;
    for_each_matrix(batch_count(work), n * n * n * 8, [&](int64_t b) {
      T* a = work.data_as<T>() + b * n * n;
      bool finite = true, real = true;
      for (int64_t i = 0; i < n * n; i++) {
        finite = finite && std::isfinite(a[i].real()) && std::isfinite(a[i].imag());
        real = real && a[i].imag() == 0;
      }
      UT_CHECK(finite, "undertow.linalg.eig: input tensor should not contain infs or NaNs.");
      check_finished(eig<R>(n, a, lead(n), values.data_as<T>() + b * n, vectors.data_as<T>() + b * n * n, lead(n)),
                     values, b, "linalg.eig");
      if (real) pair_conjugates(n, values.data_as<T>() + b * n, vectors.data_as<T>() + b * n * n);
    });
  };
  if (work.dtype() == DType::Complex64)
    each(TypeTag<float>{});
  else
    each(TypeTag<double>{});
}

void batch_svd(const Tensor& S, const Tensor& U, const Tensor& V, const Tensor& work) {
  int64_t rows = work.size(-2), k = work.size(-1), columns = U.defined() ? U.size(-1) : 0;
  dispatch_inexact(work.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(work), rows * k * k * 8, [&](int64_t b) {
      T *u = U.defined() ? U.data_as<T>() + b * rows * columns : nullptr,
        *v = U.defined() ? V.data_as<T>() + b * k * k : nullptr;
      check_finished(svd(rows, k, work.data_as<T>() + b * rows * k, lead(rows), S.data_as<RealOf<T>>() + b * k, u,
                         lead(rows), columns, v, lead(k)),
                     S, b, "linalg.svd");
    });
  });
}

int64_t divide_columns(const Tensor& a, const Tensor& values, const Tensor& atol, const Tensor& rtol,
                       const Tensor& ranks) {
  int64_t rows = a.size(-2), k = a.size(-1), count = batch_count(a), least = k;
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = RealOf<T>;
    for (int64_t b = 0; b < count; b++) {
      const R* s = values.data_as<R>() + b * k;
      double most = 0;
      for (int64_t j = 0; j < k; j++) most = std::max(most, std::abs(static_cast<double>(s[j])));
      double cutoff = std::max(atol.data_as<double>()[b], rtol.data_as<double>()[b] * most);
      int64_t rank = 0;
      for (int64_t j = 0; j < k; j++) {
        bool keep = std::abs(static_cast<double>(s[j])) > cutoff;
        T* column = a.data_as<T>() + (b * k + j) * rows;
        for (int64_t i = 0; i < rows; i++) column[i] = keep ? column[i] / s[j] : T(0);
        rank += keep;
      }
      if (ranks.defined()) ranks.data_as<int64_t>()[b] = rank;
      least = std::min(least, rank);
    }
  });
  return least;
}

bool batch_least_squares(const Tensor& x, const Tensor& a, bool adjoint, double limit) {
  int64_t rows = a.size(-2), k = a.size(-1), columns = x.size(-1), count = batch_count(a);
  std::vector<uint8_t> done(static_cast<size_t>(count));
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(count, rows * k * (k + columns), [&](int64_t i) {
      done[static_cast<size_t>(i)] =
          least_squares<T>(adjoint, rows, k, columns, a.data_as<T>() + i * rows * k, rows,
                           x.data_as<T>() + i * rows * columns, rows, static_cast<RealOf<T>>(limit));
    });
  });
  for (uint8_t each : done)
    if (!each) return false;
  return true;
}

void squared_distances(const Tensor& out, const Tensor& a, const Tensor& b) {
  int64_t m = a.size(-2), columns = a.size(-1), count = batch_count(a);
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = RealOf<T>;
    for (int64_t i = 0; i < count * columns; i++) {
      R sum = 0;
      for (int64_t r = 0; r < m; r++) {
        int64_t at = (i / columns * m + r) * columns + i % columns;
        sum += std::norm(a.data_as<T>()[at] - b.data_as<T>()[at]);
      }
      out.data_as<R>()[i] = sum;
    }
  });
}

}  // namespace undertow::core::cpu
