// least_squares.cpp: forward functions of ops/linalg_spectral.toml that use a decomposition: pseudoinverse, least
// squares, and the exponential of a matrix, by Higham's scaling and squaring with Pade approximants.
// build: small
#include <cmath>

#include "core/forward/linalg/batch.h"
#include "core/forward/matmul/matmul.h"
#include "core/kernels/cpu/linalg/linalg_kernels.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "generated/fwd_linalg_spectral.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

namespace {

Tensor adjoint(const Tensor& t) {
  Tensor turned = transpose(t, -2, -1);
  return t.is_complex() ? materialize_bits(conj(turned)) : turned;
}

// Columns j of `matrices` times 1 / s_j, or times 0 where |s_j| is not above its matrix's cut-off; how many were above.
Tensor scale_columns(const Tensor& matrices, const Tensor& values, const std::vector<double>& cutoff,
                     std::vector<int64_t>* ranks = nullptr) {
  Tensor out = copy_columns(matrices);
  int64_t rows = out.size(-2), k = out.size(-1), count = product(batch_of(out));
  dispatch_inexact(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = RealOf<T>;
    for (int64_t b = 0; b < count; b++)
      for (int64_t j = 0; j < k; j++) {
        R s = values.data_as<R>()[b * k + j];
        bool keep = std::abs(static_cast<double>(s)) > cutoff[static_cast<size_t>(b)];
        T* column = out.data_as<T>() + (b * k + j) * rows;
        for (int64_t i = 0; i < rows; i++) column[i] = keep ? column[i] / s : T(0);
        if (ranks) (*ranks)[static_cast<size_t>(b)] += keep;
      }
  });
  return out;
}

// max(atol, rtol * the greatest of the values' sizes), for each matrix.
std::vector<double> cutoffs(const Tensor& values, const Tensor& atol, const Tensor& rtol) {
  int64_t k = values.size(-1), count = k ? values.numel() / k : 0;
  Dims batch(values.sizes());
  batch.pop_back();
  Tensor v = contiguous(to_dtype(values, DType::Float64));
  Tensor a = contiguous(expand(to_dtype(atol, DType::Float64), batch, false)),
         r = contiguous(expand(to_dtype(rtol, DType::Float64), batch, false));
  std::vector<double> out(static_cast<size_t>(count));
  for (int64_t b = 0; b < count; b++) {
    double most = 0;
    for (int64_t j = 0; j < k; j++) most = std::max(most, std::abs(v.data_as<double>()[b * k + j]));
    out[static_cast<size_t>(b)] = std::max(a.data_as<double>()[b], r.data_as<double>()[b] * most);
  }
  return out;
}

// The solution of every system of a batch by QR; undefined if one of them may be short of full rank.
Tensor full_rank_solution(const Tensor& a, const Tensor& y, double limit) {
  const int64_t m = a.size(-2), n = a.size(-1), columns = y.size(-1), count = product(batch_of(a)),
                rows = std::max(m, n), k = std::min(m, n);
  if (a.numel() == 0 || y.numel() == 0) return Tensor();
  Tensor work = copy_columns(m >= n ? a : adjoint(a)),
         x = empty_columns(joined(batch_of(a), {rows, columns}), a.dtype());
  copy_into(m >= n ? x : slice(x, -2, 0, m, 1), y);
  std::vector<uint8_t> done(static_cast<size_t>(count));
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(count, rows * k * (k + columns), [&](int64_t i) {
      done[static_cast<size_t>(i)] =
          cpu::least_squares<T>(m < n, rows, k, columns, work.data_as<T>() + i * rows * k, rows,
                                x.data_as<T>() + i * rows * columns, rows, static_cast<RealOf<T>>(limit));
    });
  });
  for (uint8_t each : done)
    if (!each) return Tensor();
  return m > n ? contiguous(slice(x, -2, 0, n, 1)) : x;
}

}  // namespace

Tensor _linalg_pinv(const Tensor& self, const Tensor& atol, const Tensor& rtol, bool hermitian) {
  if (self.numel() == 0) return zeros(joined(batch_of(self), {self.size(-1), self.size(-2)}), self.dtype());
  if (hermitian) {
    auto [values, vectors] = _linalg_eigh(self, "L", true);
    return matmul_direct(scale_columns(vectors, values, cutoffs(values, atol, rtol)), adjoint(vectors));
  }
  auto [U, S, Vh] = _linalg_svd(self, false, true, std::nullopt);
  return matmul_direct(scale_columns(adjoint(Vh), S, cutoffs(S, atol, rtol)), adjoint(U));
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
  bool vector = b.dim() == self.dim() - 1 && same(b.sizes(), self.sizes().first(static_cast<size_t>(self.dim() - 1)));
  Tensor rhs = vector ? unsqueeze(b, -1) : b;
  UT_CHECK(rhs.dim() >= 2,
           "undertow.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) "
           "<= 1");
  int64_t m = self.size(-2), n = self.size(-1);
  UT_CHECK(rhs.size(-2) == m, "undertow.linalg.lstsq: input.size(-2) should match other.size(", vector ? "-1" : "-2",
           ")");
  Dims batch = broadcast_sizes(batch_of(self), batch_of(rhs));
  Tensor a = expand(self, joined(batch, {m, n}), false), y = expand(rhs, joined(batch, {m, rhs.size(-1)}), false);
  double eps = self.dtype() == DType::Float32 || self.dtype() == DType::Complex64 ? 0x1p-23 : 0x1p-52;
  double limit = rcond.value_or(eps * static_cast<double>(std::max(m, n)));
  std::vector<int64_t> ranks(static_cast<size_t>(product(batch)), std::min(m, n));
  Tensor S, solution;
  if (by == "gels" || by == "gelsy") solution = full_rank_solution(a, y, limit);
  if (!solution.defined()) {
    auto [U, values, Vh] = _linalg_svd(a, false, true, std::nullopt);
    S = values;
    std::fill(ranks.begin(), ranks.end(), 0);
    Tensor zero = full({}, Scalar(0.0), DType::Float64), relative = full({}, Scalar(limit), DType::Float64);
    Tensor scaled = scale_columns(adjoint(Vh), S, cutoffs(S, zero, relative), &ranks);
    solution = matmul_direct(scaled, matmul_direct(adjoint(U), contiguous(y)));
  }
  // Squared lengths of what is left over, where there are more equations than unknowns and all are independent.
  bool full_rank = true;
  for (int64_t r : ranks) full_rank = full_rank && r == n;
  Tensor residuals = undertow::empty(Dims{0}, to_real(self.dtype()));
  if (m > n && full_rank && by != "gelsy") {
    Tensor fitted = matmul_direct(a, solution), target = contiguous(y);
    int64_t columns = y.size(-1), count = product(batch);
    residuals = undertow::empty(joined(batch, {columns}), to_real(self.dtype()));
    dispatch_inexact(self.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      using R = RealOf<T>;
      for (int64_t i = 0; i < count * columns; i++) {
        R sum = 0;
        for (int64_t r = 0; r < m; r++) {
          int64_t at = (i / columns * m + r) * columns + i % columns;
          sum += std::norm(fitted.data_as<T>()[at] - target.data_as<T>()[at]);
        }
        residuals.data_as<R>()[i] = sum;
      }
    });
  }
  Tensor rank = undertow::empty(by == "gels" ? Dims{0} : batch, DType::Int64);
  if (by != "gels") std::copy(ranks.begin(), ranks.end(), rank.data_as<int64_t>());
  bool with_values = by == "gelsd" || by == "gelss";
  return {vector ? squeeze(solution, -1) : solution, residuals, rank,
          with_values ? S : undertow::empty(Dims{0}, to_real(self.dtype()))};
}

namespace {

template <class T>
struct Square {
  int64_t n;
  std::vector<T> data;
  explicit Square(int64_t size, T diagonal = T(0)) : n(size), data(static_cast<size_t>(size * size), T(0)) {
    for (int64_t i = 0; i < n; i++) data[static_cast<size_t>(i * (n + 1))] = diagonal;
  }
  Square times(const Square& o) const {
    Square out(n);
    cpu::gemm<T>(n, n, n, T(1), data.data(), 1, n, o.data.data(), 1, n, T(0), out.data.data(), 1, n);
    return out;
  }
  Square& add(double factor, const Square& o) {
    T f(static_cast<RealOf<T>>(factor));
    cpu::dense_kernels<T>().combine(n * n, 1, o.data.data(), n * n, &f, data.data());
    return *this;
  }
};

// `single`: exact to float's rounding is enough.
template <class T>
void exponential(int64_t n, T* a, bool single) {
  Square<T> x(n);
  double norm = 0;  // the greatest sum of a column's sizes
  for (int64_t j = 0; j < n; j++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += std::abs(a[i + j * n]);
    norm = std::max(norm, std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum);
  }
  if (!std::isfinite(norm)) {
    std::fill(a, a + n * n, T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
    return;
  }
  // The approximants [m/m] for m = 3, 5, 7, 9 and 13, and the norms up to which they are exact to rounding (Higham).
  const int degrees[] = {3, 5, 7, 9, 13};
  const double reach[] = {single ? 0.4258730016922831 : 0.01495585217958292,
                          single ? 1.880152677804762 : 0.2539398330063230,
                          single ? 3.925724783138660 : 0.9504178996162932, 2.097847961257068, 5.371920351148152};
  const int last = single ? 2 : 4;
  int chosen = 0;
  while (chosen < last && norm > reach[chosen]) chosen++;
  int squarings = norm > reach[last] ? static_cast<int>(std::ceil(std::log2(norm / reach[last]))) : 0;
  RealOf<T> scale = static_cast<RealOf<T>>(std::ldexp(1.0, -squarings));
  for (int64_t i = 0; i < n * n; i++) x.data[static_cast<size_t>(i)] = a[i] * scale;
  // c_j = (2m - j)! m! / ((2m)! (m - j)! j!), all divided by the last.
  const int m = degrees[chosen];
  double c[14];
  c[m] = 1;
  for (int j = m; j > 0; j--) c[j - 1] = c[j] * j * (2 * m - j + 1) / (m - j + 1);
  Square<T> one(n, T(1)), x2 = x.times(x), odd(n, T(static_cast<RealOf<T>>(c[1]))),
                          even(n, T(static_cast<RealOf<T>>(c[0])));
  if (m == 13) {
    Square<T> x4 = x2.times(x2), x6 = x4.times(x2);
    Square<T> high_odd = Square<T>(n).add(c[13], x6).add(c[11], x4).add(c[9], x2),
              high_even = Square<T>(n).add(c[12], x6).add(c[10], x4).add(c[8], x2);
    odd = x.times(x6.times(high_odd).add(c[7], x6).add(c[5], x4).add(c[3], x2).add(c[1], one));
    even = x6.times(high_even).add(c[6], x6).add(c[4], x4).add(c[2], x2).add(c[0], one);
  } else {
    Square<T> power = x2;
    for (int j = 2; j <= m; j += 2) {
      if (j > 2) power = power.times(x2);
      even.add(c[j], power);
      odd.add(c[j + 1], power);
    }
    odd = x.times(odd);
  }
  // (even - odd) result = even + odd
  Square<T> below = even, result = even;
  below.add(-1, odd);
  result.add(1, odd);
  std::vector<int32_t> pivots(static_cast<size_t>(n));
  cpu::lu_factor(n, n, below.data.data(), n, pivots.data());
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      std::swap(result.data[static_cast<size_t>(i + j * n)],
                result.data[static_cast<size_t>(pivots[static_cast<size_t>(i)] - 1 + j * n)]);
  cpu::solve_triangular<T>({.upper = false, .unit = true}, n, n, below.data.data(), 1, n, result.data.data(), 1, n);
  cpu::solve_triangular<T>({.upper = true, .unit = false}, n, n, below.data.data(), 1, n, result.data.data(), 1, n);
  for (int s = 0; s < squarings; s++) result = result.times(result);
  std::copy(result.data.begin(), result.data.end(), a);
}

}  // namespace

Tensor linalg_matrix_exp(const Tensor& self) {
  check_square(self, "linalg.matrix_exp", "A");
  UT_CHECK(is_differentiable(self.dtype()),
           "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got ", long_name(self.dtype()));
  // Squaring doubles relative errors each time, so narrow types are computed in wide ones.
  DType wide = self.is_complex() ? DType::Complex128 : DType::Float64;
  bool narrow = self.dtype() != wide;
  // exp(A^T) is exp(A)^T, so rows may be read as columns.
  Tensor out = contiguous_copy(narrow ? to_dtype(self, wide) : self);
  int64_t n = self.size(-1);
  dispatch_inexact(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_matrix(n ? out.numel() / (n * n) : 0, n * n * n * 16,
                    [&](int64_t i) { exponential(n, out.data_as<T>() + i * n * n, narrow); });
  });
  return narrow ? to_dtype(out, self.dtype()) : out;
}

}  // namespace undertow::fwd
