// distance.cpp: the CPU's DistanceKernels: distances between rows of matrices.
// build: small
#include "core/kernels/distance.h"

#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/distance/distance_kernels.h"
#include "core/kernels/cpu/linalg/batch.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/tensor/dtype/dispatch.h"

namespace undertow::core::cpu {

namespace {

template <class T>
const DistanceLoops<T>& loops() {
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(distance_float());
  else
    return UNDERTOW_CHOOSE_ISA(distance_double());
}

// The p-norm of x - y. One loop for each kind of order, selected outside it.
template <class T>
T distance(const T* x, const T* y, int64_t n, double p) {
  using M = OpMath<T>;
  if constexpr (std::is_floating_point_v<T>) {
    if (p == 2) return loops<T>().direct(x, y, n);
  }
  M sum = 0;
  auto over = [&](auto&& take) {
    for (int64_t i = 0; i < n; i++) take(std::abs(static_cast<M>(x[i]) - static_cast<M>(y[i])));
  };
  if (p == 0)
    over([&](M d) { sum += std::isnan(d) ? d : d != 0 ? M(1) : M(0); });
  else if (p == 1)
    over([&](M d) { sum += d; });
  else if (p == 2)
    over([&](M d) { sum += d * d; });
  else if (std::isinf(p))
    over([&](M d) { sum = std::isnan(d) || d > sum ? d : sum; });
  else
    over([&](M d) { sum += std::pow(d, static_cast<M>(p)); });
  if (p == 0 || p == 1 || std::isinf(p)) return T(sum);
  return T(p == 2 ? std::sqrt(sum) : std::pow(sum, static_cast<M>(1 / p)));
}

// Minimum work for a matrix product to pay off: below it, distances are summed directly from differences.
constexpr int64_t kProductWork = 1 << 14;

// Euclidean distances between the rows of one a and one b, as |x|^2 + |y|^2 - 2 x.y for all pairs. If that cancels
// almost completely, or is not finite, the distance is summed from differences instead: only about the last two digits
// can be lost.
template <class T>
void euclidean(const T* a, const T* b, int64_t rows, int64_t columns, int64_t n, T* out) {
  std::vector<T> squares(static_cast<size_t>(columns));
  for (int64_t j = 0; j < columns; j++) squares[static_cast<size_t>(j)] = loops<T>().square(b + j * n, n);
  gemm<T>(rows, columns, n, T(-2), a, n, 1, b, 1, n, T(0), out, columns, 1);
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const T* x = a + i * n;
      T* to = out + i * columns;
      if (loops<T>().finish(to, loops<T>().square(x, n), squares.data(), columns)) continue;
      for (int64_t j = 0; j < columns; j++)
        if (to[j] < 0) to[j] = loops<T>().direct(x, b + j * n, n);
    }
  });
}

void cdist(const Tensor& out, const Tensor& a, const Tensor& b, double p) {
  int64_t rows = a.size(-2), columns = b.size(-2), n = a.size(-1), count = batch_count(a);
  dispatch_real(out.dtype(), "cdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>) {
      if (p == 2 && n >= 4 && rows * columns * n >= kProductWork) {
        for (int64_t i = 0; i < count; i++)
          euclidean(a.data_as<T>() + i * rows * n, b.data_as<T>() + i * columns * n, rows, columns, n,
                    out.data_as<T>() + i * rows * columns);
        return;
      }
    }
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) {
      for_each_matrix(count * rows, columns * std::max<int64_t>(1, n), [&](int64_t i) {
        const T *x = a.data_as<T>() + i * n, *y = b.data_as<T>() + i / std::max<int64_t>(1, rows) * columns * n;
        for (int64_t j = 0; j < columns; j++) out.data_as<T>()[i * columns + j] = distance(x, y + j * n, n, p);
      });
    }
  });
}

void pdist(const Tensor& out, const Tensor& x, double p) {
  int64_t rows = x.size(0), n = x.size(1);
  dispatch_real(out.dtype(), "pdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) {
      T* to = out.data_as<T>();
      for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i + 1; j < rows; j++) *to++ = distance(x.data_as<T>() + i * n, x.data_as<T>() + j * n, n, p);
    }
  });
}

}  // namespace

constinit const DistanceKernels distance_kernels = {.cdist = cdist, .pdist = pdist};

}  // namespace undertow::core::cpu
