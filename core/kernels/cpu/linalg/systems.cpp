// systems.cpp: see batches.h: LU and Cholesky factors, systems solved with them, inverses, determinants.
// build: small
#include <cmath>
#include <vector>

#include "core/kernels/cpu/linalg/batch.h"
#include "core/kernels/cpu/linalg/batches.h"
#include "core/kernels/cpu/linalg/factorizations.h"
#include "core/tensor/dtype/dispatch.h"

namespace undertow::core::cpu {

namespace {

// b = A^-1 b for columns b, from A's factors.
template <class T>
void solve_factored(int64_t n, int64_t columns, const T* lu, const int32_t* pivots, T* b) {
  for (int64_t i = 0; i < n; i++) {
    int64_t p = pivots[i] - 1;
    if (p != i)
      for (int64_t j = 0; j < columns; j++) std::swap(b[i + j * n], b[p + j * n]);
  }
  solve_triangular<T>({.upper = false, .unit = true}, n, columns, lu, 1, n, b, 1, n);
  solve_triangular<T>({.upper = true, .unit = false}, n, columns, lu, 1, n, b, 1, n);
}

// The sign of the row exchanges.
int exchange_sign(const int32_t* pivots, int64_t n) {
  int sign = 1;
  for (int64_t i = 0; i < n; i++)
    if (pivots[i] != i + 1) sign = -sign;
  return sign;
}

}  // namespace

LinalgFailure first_failure(const Tensor& info) {
  const int32_t* p = info.data_as<int32_t>();
  for (int64_t i = 0; i < info.numel(); i++)
    if (p[i]) return {i, p[i]};
  return {};
}

void batch_lu_factor(const Tensor& a, const Tensor& pivots, const Tensor& info) {
  int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(info.numel(), m * n * k, [&](int64_t i) {
      int64_t zero = lu_factor(m, n, a.data_as<T>() + i * m * n, lead(m), pivots.data_as<int32_t>() + i * k);
      info.data_as<int32_t>()[i] = static_cast<int32_t>(zero);
    });
  });
}

void permutation(const Tensor& P, const Tensor& pivots) {
  int64_t m = P.size(-1), k = pivots.size(-1), count = m ? P.numel() / (m * m) : 0;
  dispatch_inexact(P.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<int64_t> rows(static_cast<size_t>(m));
    for (int64_t b = 0; b < count; b++) {
      const int32_t* exchanged = pivots.data_as<int32_t>() + b * k;
      for (int64_t i = 0; i < m; i++) rows[static_cast<size_t>(i)] = i;
      for (int64_t i = 0; i < k; i++) {
        UT_CHECK(exchanged[i] >= 1 && exchanged[i] <= m,
                 "lu_unpack: pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive: got ",
                 exchanged[i]);
        std::swap(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(exchanged[i] - 1)]);
      }
      // Row i of L U is row rows[i] of A.
      for (int64_t i = 0; i < m; i++) P.data_as<T>()[b * m * m + rows[static_cast<size_t>(i)] * m + i] = T(1);
    }
  });
}

void split_lu(const Tensor& L, const Tensor& U) {
  int64_t m = L.size(-2), n = U.size(-1), k = L.size(-1);
  dispatch_inexact(L.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t count = m && n ? batch_count(L) : 0;
    for (int64_t b = 0; b < count; b++) {
      T *l = L.data_as<T>() + b * m * k, *u = U.data_as<T>() + b * k * n;
      for (int64_t j = 0; j < k; j++) {
        std::fill(l + j * m, l + j * m + j, T(0));
        l[j + j * m] = T(1);
        std::fill(u + j * k + j + 1, u + (j + 1) * k, T(0));
      }
    }
  });
}

void batch_invert(const Tensor& out, const Tensor& lu, const Tensor& pivots) {
  int64_t n = out.size(-1);
  dispatch_inexact(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(out), n * n * n, [&](int64_t i) {
      invert_factored(n, lu.data_as<T>() + i * n * n, lead(n), pivots.data_as<int32_t>() + i * n,
                      out.data_as<T>() + i * n * n, lead(n));
    });
  });
}

void batch_solve(const Tensor& x, const Tensor& lu, const Tensor& pivots) {
  int64_t n = x.size(-2), columns = x.size(-1);
  dispatch_inexact(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(x), n * n * (n + columns), [&](int64_t i) {
      solve_factored(n, columns, lu.data_as<T>() + i * n * n, pivots.data_as<int32_t>() + i * n,
                     x.data_as<T>() + i * n * columns);
    });
  });
}

void batch_solve_triangular(const Tensor& x, const Tensor& a, TriangularSystem how) {
  int64_t n = a.size(-1), rows = x.size(-2), columns = x.size(-1), size = rows * columns, ld = lead(rows);
  dispatch_inexact(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(batch_count(x), n * size, [&](int64_t i) {
      const T* matrix = a.data_as<T>() + i * n * n;
      T* to = x.data_as<T>() + i * size;
      // X A = B is A^T X^T = B^T: swap the strides of both.
      if (how.left)
        solve_triangular<T>({how.upper, how.unit}, n, columns, matrix, n, 1, to, 1, ld);
      else
        solve_triangular<T>({!how.upper, how.unit}, n, rows, matrix, 1, n, to, ld, 1);
    });
  });
}

void det(const Tensor& out, const Tensor& lu, const Tensor& pivots) {
  int64_t n = lu.size(-1);
  dispatch_inexact(lu.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.numel(); i++) {
      T det(static_cast<RealOf<T>>(exchange_sign(pivots.data_as<int32_t>() + i * n, n)));
      for (int64_t d = 0; d < n; d++) det *= lu.data_as<T>()[i * n * n + d * (n + 1)];
      out.data_as<T>()[i] = det;
    }
  });
}

void slogdet(const Tensor& sign, const Tensor& size, const Tensor& lu, const Tensor& pivots) {
  int64_t n = lu.size(-1);
  dispatch_inexact(lu.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = RealOf<T>;
    for (int64_t i = 0; i < sign.numel(); i++) {
      T direction(static_cast<R>(exchange_sign(pivots.data_as<int32_t>() + i * n, n)));
      R sum = 0;
      for (int64_t d = 0; d < n; d++) {
        T v = lu.data_as<T>()[i * n * n + d * (n + 1)];
        direction = v == T(0) ? T(0) : direction * (v / std::abs(v));
        sum += std::log(std::abs(v));
      }
      sign.data_as<T>()[i] = direction;
      size.data_as<R>()[i] = sum;
    }
  });
}

void batch_cholesky(const Tensor& a, const Tensor& info) {
  int64_t n = a.size(-1);
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(info.numel(), n * n * n, [&](int64_t i) {
      info.data_as<int32_t>()[i] = static_cast<int32_t>(cholesky(n, a.data_as<T>() + i * n * n, lead(n)));
    });
  });
}

}  // namespace undertow::core::cpu
