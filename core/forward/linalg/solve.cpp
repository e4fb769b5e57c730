// solve.cpp: forward functions of ops/linalg_solve.toml: LU and Cholesky factors, triangular and general systems,
// inverses, determinants.
// build: small
#include <cmath>

#include "core/forward/linalg/batch.h"
#include "generated/fwd_linalg_solve.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

namespace {

struct Factored {
  Tensor lu, pivots, info;
};

Factored factored(const Tensor& A) {
  int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  Factored f{copy_columns(A), undertow::empty(joined(batch_of(A), {k}), DType::Int32),
             undertow::empty(batch_of(A), DType::Int32)};
  dispatch_inexact(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(f.info.numel(), m * n * k, [&](int64_t i) {
      int64_t zero = cpu::lu_factor(m, n, f.lu.data_as<T>() + i * m * n, std::max<int64_t>(1, m),
                                    f.pivots.data_as<int32_t>() + i * k);
      f.info.data_as<int32_t>()[i] = static_cast<int32_t>(zero);
    });
  });
  return f;
}

// b = A^-1 b for columns b, from A's factors.
template <class T>
void solve_factored(int64_t n, int64_t columns, const T* lu, const int32_t* pivots, T* b) {
  for (int64_t i = 0; i < n; i++) {
    int64_t p = pivots[i] - 1;
    if (p != i)
      for (int64_t j = 0; j < columns; j++) std::swap(b[i + j * n], b[p + j * n]);
  }
  cpu::solve_triangular<T>({.upper = false, .unit = true}, n, columns, lu, 1, n, b, 1, n);
  cpu::solve_triangular<T>({.upper = true, .unit = false}, n, columns, lu, 1, n, b, 1, n);
}

// The sign of the row exchanges.
int exchange_sign(const int32_t* pivots, int64_t n) {
  int sign = 1;
  for (int64_t i = 0; i < n; i++)
    if (pivots[i] != i + 1) sign = -sign;
  return sign;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) {
  check_matrix(A, "undertow.lu_factor");
  check_inexact(A, "undertow.lu_factor");
  UT_CHECK(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  Factored f = factored(A);
  int64_t bad = check_errors ? first_failure(f.info) : -1;
  UT_CHECK_AS(LinAlg, bad < 0, "undertow.linalg.lu_factor_ex: ", batch_text(f.info, bad), "U[",
              f.info.data_as<int32_t>()[bad], ",", f.info.data_as<int32_t>()[bad],
              "] is zero and using it on lu_solve would result in a division by zero.");
  return {f.lu, f.pivots, f.info};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data,
                                             bool unpack_pivots) {
  UT_CHECK(LU_pivots.dtype() == DType::Int32,
           "undertow.lu_unpack: LU_pivots is expected to be a contiguous tensor of undertow.int32 dtype.");
  check_matrix(LU_data, "undertow.lu_unpack", "LU_data");
  int64_t m = LU_data.size(-2), n = LU_data.size(-1), k = std::min(m, n);
  Tensor P = undertow::empty(Dims{0}, LU_data.dtype()), L = P, U = P;
  if (unpack_pivots) {
    UT_CHECK(LU_pivots.dim() == LU_data.dim() - 1 && LU_pivots.size(-1) == k,
             "undertow.lu_unpack: LU_pivots must have one entry for each of the ", k,
             " pivots of LU_data, but its shape is ", ShapeText{LU_pivots.sizes()});
    P = zeros(joined(batch_of(LU_data), {m, m}), LU_data.dtype());
    Tensor pivots = contiguous(LU_pivots);
    int64_t count = m ? P.numel() / (m * m) : 0;
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
  if (unpack_data) {
    L = copy_columns(slice(LU_data, -1, 0, k, 1));
    U = copy_columns(slice(LU_data, -2, 0, k, 1));
    dispatch_inexact(L.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      int64_t count = m && n ? LU_data.numel() / (m * n) : 0;
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
  return {P, L, U};
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  check_square(A, "linalg.inv");
  check_inexact(A, "linalg.inv");
  Factored f = factored(A);
  int64_t n = A.size(-1), bad = check_errors ? first_failure(f.info) : -1;
  UT_CHECK_AS(LinAlg, bad < 0, "linalg.inv_ex: ", batch_text(f.info, bad), "The diagonal element ",
              f.info.data_as<int32_t>()[bad],
              " is zero, the inversion could not be completed because the input matrix is singular.");
  Tensor out = empty_columns(A.sizes(), A.dtype());
  dispatch_inexact(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(f.info.numel(), n * n * n, [&](int64_t i) {
      cpu::invert_factored(n, f.lu.data_as<T>() + i * n * n, std::max<int64_t>(1, n),
                           f.pivots.data_as<int32_t>() + i * n, out.data_as<T>() + i * n * n, std::max<int64_t>(1, n));
    });
  });
  return {out, f.info};
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  check_square(A, "linalg.solve");
  check_inexact(A, "linalg.solve");
  UT_CHECK(A.dtype() == B.dtype(), "linalg.solve: Expected A and B to have the same dtype, but found A of type ",
           long_name(A.dtype()), " and B of type ", long_name(B.dtype()), " instead");
  // B is one vector for each matrix if it has just the shape for that.
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
  int64_t bad = check_errors ? first_failure(f.info) : -1;
  UT_CHECK_AS(LinAlg, bad < 0, "undertow.linalg.solve: ", batch_text(f.info, bad),
              "The solver failed because the input matrix is singular.");
  Tensor x = copy_columns(expand(b, joined(batch, {n, columns}), false));
  dispatch_inexact(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(f.info.numel(), n * n * (n + columns), [&](int64_t i) {
      solve_factored(n, columns, f.lu.data_as<T>() + i * n * n, f.pivots.data_as<int32_t>() + i * n,
                     x.data_as<T>() + i * n * columns);
    });
  });
  return {vector ? squeeze(x, -1) : x, f.info};
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
  int64_t count = product(batch), size = rows * columns, ld = std::max<int64_t>(1, rows);
  dispatch_inexact(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(count, n * size, [&](int64_t i) {
      const T* matrix = a.data_as<T>() + i * n * n;
      T* to = x.data_as<T>() + i * size;
      // X A = B is A^T X^T = B^T: both read by the other stride.
      if (left)
        cpu::solve_triangular<T>({upper, unitriangular}, n, columns, matrix, n, 1, to, 1, ld);
      else
        cpu::solve_triangular<T>({!upper, unitriangular}, n, rows, matrix, 1, n, to, ld, 1);
    });
  });
  return x;
}

Tensor linalg_det(const Tensor& A) {
  check_square(A, "linalg.det");
  check_inexact(A, "linalg.det");
  Factored f = factored(A);
  Tensor out = undertow::empty(batch_of(A), A.dtype());
  int64_t n = A.size(-1);
  dispatch_inexact(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < out.numel(); i++) {
      T det(static_cast<RealOf<T>>(exchange_sign(f.pivots.data_as<int32_t>() + i * n, n)));
      for (int64_t d = 0; d < n; d++) det *= f.lu.data_as<T>()[i * n * n + d * (n + 1)];
      out.data_as<T>()[i] = det;
    }
  });
  return out;
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  check_square(A, "linalg.slogdet");
  check_inexact(A, "linalg.slogdet");
  Factored f = factored(A);
  Tensor sign = undertow::empty(batch_of(A), A.dtype()), size = undertow::empty(batch_of(A), to_real(A.dtype()));
  int64_t n = A.size(-1);
  dispatch_inexact(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = RealOf<T>;
    for (int64_t i = 0; i < sign.numel(); i++) {
      T direction(static_cast<R>(exchange_sign(f.pivots.data_as<int32_t>() + i * n, n)));
      R sum = 0;
      for (int64_t d = 0; d < n; d++) {
        T v = f.lu.data_as<T>()[i * n * n + d * (n + 1)];
        direction = v == T(0) ? T(0) : direction * (v / std::abs(v));
        sum += std::log(std::abs(v));
      }
      sign.data_as<T>()[i] = direction;
      size.data_as<R>()[i] = sum;
    }
  });
  return {sign, size};
}

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  check_square(self, "linalg.cholesky");
  check_inexact(self, "linalg.cholesky");
  // U^H U = A: L of the conjugate matrix, read by rows. The triangle that is read is the upper one then.
  int64_t n = self.size(-1);
  Tensor out = undertow::empty(self.sizes(), self.dtype()), info = undertow::empty(batch_of(self), DType::Int32);
  if (!upper) out = empty_columns(self.sizes(), self.dtype());
  copy_into(out, self);
  dispatch_inexact(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(info.numel(), n * n * n, [&](int64_t i) {
      info.data_as<int32_t>()[i] =
          static_cast<int32_t>(cpu::cholesky(n, out.data_as<T>() + i * n * n, std::max<int64_t>(1, n)));
    });
  });
  int64_t bad = check_errors ? first_failure(info) : -1;
  UT_CHECK_AS(LinAlg, bad < 0, "linalg.cholesky_ex: ", batch_text(info, bad),
              "The factorization could not be completed because the input is not positive-definite (the leading minor "
              "of order ",
              info.data_as<int32_t>()[bad], " is not positive-definite).");
  return {out, info};
}

Tensor cholesky(const Tensor& self, bool upper) {
  UT_CHECK(self.dim() >= 2, "cholesky: The input tensor A must have at least 2 dimensions.");
  UT_CHECK(self.size(-1) == self.size(-2), "cholesky: A must be batches of square matrices, but they are ",
           self.size(-2), " by ", self.size(-1), " matrices");
  auto [L, info] = linalg_cholesky_ex(self, upper, false);
  int64_t bad = first_failure(info);
  UT_CHECK_AS(LinAlg, bad < 0, "cholesky: ", batch_text(info, bad),
              "The factorization could not be completed because the input is not positive-definite (the leading minor "
              "of order ",
              info.data_as<int32_t>()[bad], " is not positive-definite).");
  return L;
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  UT_CHECK(self.dim() >= 2, "b should have at least 2 dimensions, but has ", self.dim(), " dimensions instead");
  UT_CHECK(input2.dim() >= 2, "u should have at least 2 dimensions, but has ", input2.dim(), " dimensions instead");
  UT_CHECK(input2.size(-1) == input2.size(-2), "A must be batches of square matrices, but they are ", input2.size(-2),
           " by ", input2.size(-1), " matrices");
  UT_CHECK(self.size(-2) == input2.size(-1), "Incompatible matrix sizes for cholesky_solve: each A matrix is ",
           input2.size(-1), " by ", input2.size(-1), " but each b matrix is ", self.size(-2), " by ", self.size(-1));
  Tensor turned = transpose(input2, -2, -1);
  if (input2.is_complex()) turned = materialize_bits(conj(turned));
  const Tensor &lower = upper ? turned : input2, &higher = upper ? input2 : turned;
  return linalg_solve_triangular(higher, linalg_solve_triangular(lower, self, false, true, false), true, true, false);
}
Tensor cholesky_inverse(const Tensor& self, bool upper) {
  check_square(self, "cholesky_inverse");
  check_inexact(self, "cholesky_inverse");
  Tensor one = zeros(self.sizes(), self.dtype());
  fill_into(diagonal(one, 0, -2, -1), Scalar(1));
  return cholesky_solve(one, self, upper);
}

}  // namespace undertow::fwd
