// exponential.cpp: the exponential of a matrix, by Higham's scaling and squaring with Pade approximants. See batches.h.
// build: small
#include <cmath>
#include <limits>
#include <vector>

#include "core/kernels/cpu/linalg/batch.h"
#include "core/kernels/cpu/linalg/batches.h"
#include "core/kernels/cpu/linalg/factorizations.h"
#include "core/kernels/cpu/linalg/linalg_kernels.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/tensor/dtype/dispatch.h"

namespace undertow::core::cpu {

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
    gemm<T>(n, n, n, T(1), data.data(), 1, n, o.data.data(), 1, n, T(0), out.data.data(), 1, n);
    return out;
  }
  Square& add(double factor, const Square& o) {
    T f(static_cast<RealOf<T>>(factor));
    dense_kernels<T>().combine(n * n, 1, o.data.data(), n * n, &f, data.data());
    return *this;
  }
};

// `single`: float precision is enough.
template <class T>
void exponential(int64_t n, T* a, bool single) {
  Square<T> x(n);
  double norm = 0;  // the maximum column sum of magnitudes
  for (int64_t j = 0; j < n; j++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += std::abs(a[i + j * n]);
    norm = std::max(norm, std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum);
  }
  if (!std::isfinite(norm)) {
    std::fill(a, a + n * n, T(std::numeric_limits<RealOf<T>>::quiet_NaN()));
    return;
  }
  // The approximants [m/m] for m = 3, 5, 7, 9 and 13, and the norms up to which they are accurate to round-off
  // (Higham).
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
  lu_factor(n, n, below.data.data(), n, pivots.data());
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      std::swap(result.data[static_cast<size_t>(i + j * n)],
                result.data[static_cast<size_t>(pivots[static_cast<size_t>(i)] - 1 + j * n)]);
  solve_triangular<T>({.upper = false, .unit = true}, n, n, below.data.data(), 1, n, result.data.data(), 1, n);
  solve_triangular<T>({.upper = true, .unit = false}, n, n, below.data.data(), 1, n, result.data.data(), 1, n);
  for (int s = 0; s < squarings; s++) result = result.times(result);
  std::copy(result.data.begin(), result.data.end(), a);
}

}  // namespace

void batch_exponential(const Tensor& a, bool single) {
  int64_t n = a.size(-1);
  dispatch_inexact(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(RealOf<T>) == sizeof(double))
      for_each_matrix(n ? a.numel() / (n * n) : 0, n * n * n * 16,
                      [&](int64_t i) { exponential(n, a.data_as<T>() + i * n * n, single); });
  });
}

}  // namespace undertow::core::cpu
