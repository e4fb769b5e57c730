// distance.cpp: forward functions of cdist and pdist: distances between rows of matrices.
// build: small
#include <cmath>

#include "core/base/parallel.h"
#include "core/forward/linalg/batch.h"
#include "core/forward/matmul/matmul.h"
#include "core/kernels/cpu/distance/distance_kernels.h"
#include "generated/fwd_distance.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

namespace {

template <class T>
const cpu::DistanceKernels<T>& kernels() {
  using namespace cpu;
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(distance_float());
  else
    return UNDERTOW_CHOOSE_ISA(distance_double());
}

// The p-norm of x - y. One loop for each kind of order, chosen outside of it.
template <class T>
T distance(const T* x, const T* y, int64_t n, double p) {
  using M = OpMath<T>;
  if constexpr (std::is_floating_point_v<T>) {
    if (p == 2) return kernels<T>().direct(x, y, n);
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

// Work from which a product pays: below, distances are summed from differences at once.
constexpr int64_t kProductWork = 1 << 14;

// Euclidean distances of the rows of one a and one b, as |x|^2 + |y|^2 - 2 x.y of all pairs. Where that cancels, so
// that little of it is left, or is not finite, the distance is summed from differences after all: no digits are lost
// beyond the last two or so.
template <class T>
void euclidean(const T* a, const T* b, int64_t rows, int64_t columns, int64_t n, T* out) {
  std::vector<T> squares(static_cast<size_t>(columns));
  for (int64_t j = 0; j < columns; j++) squares[static_cast<size_t>(j)] = kernels<T>().square(b + j * n, n);
  auto bytes = [](const T* x) { return reinterpret_cast<char*>(const_cast<T*>(x)); };
  multiply(std::is_same_v<T, float> ? DType::Float32 : DType::Float64, "cdist", 1, rows, columns, n, Scalar(-2),
           {bytes(a), 0, n, 1}, {bytes(b), 0, 1, n}, Scalar(0), {bytes(out), 0, columns, 1});
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const T* x = a + i * n;
      T* to = out + i * columns;
      if (kernels<T>().finish(to, kernels<T>().square(x, n), squares.data(), columns)) continue;
      for (int64_t j = 0; j < columns; j++)
        if (to[j] < 0) to[j] = kernels<T>().direct(x, b + j * n, n);
    }
  });
}

}  // namespace

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, std::string_view compute_mode) {
  UT_CHECK_VALUE(compute_mode == "use_mm_for_euclid_dist_if_necessary" || compute_mode == "use_mm_for_euclid_dist" ||
                     compute_mode == "donot_use_mm_for_euclid_dist",
                 compute_mode, " is not a valid value for compute_mode");
  UT_CHECK(is_floating(x1.dtype()), "cdist only supports floating-point dtypes, X1 got: ", long_name(x1.dtype()));
  UT_CHECK(is_floating(x2.dtype()), "cdist only supports floating-point dtypes, X2 got: ", long_name(x2.dtype()));
  UT_CHECK(x1.dtype() == x2.dtype(), "expected scalar type ", long_name(x1.dtype()), " but found ",
           long_name(x2.dtype()));
  UT_CHECK(x1.dim() >= 2, "cdist only supports at least 2D tensors, X1 got: ", x1.dim(), "D");
  UT_CHECK(x2.dim() >= 2, "cdist only supports at least 2D tensors, X2 got: ", x2.dim(), "D");
  UT_CHECK(x1.size(-1) == x2.size(-1), "X1 and X2 must have the same number of columns. X1: ", x1.size(-1),
           " X2: ", x2.size(-1));
  UT_CHECK(p >= 0, "cdist only supports non-negative p values");
  Dims batch = broadcast_sizes(batch_of(x1), batch_of(x2));
  int64_t rows = x1.size(-2), columns = x2.size(-2), n = x1.size(-1);
  Tensor a = contiguous(expand(x1, joined(batch, {rows, n}), false)),
         b = contiguous(expand(x2, joined(batch, {columns, n}), false));
  Tensor out = undertow::empty(joined(batch, {rows, columns}), x1.dtype());
  dispatch_real(x1.dtype(), "cdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T>) {
      if (p == 2 && n >= 4 && rows * columns * n >= kProductWork) {
        for (int64_t i = 0, count = product(batch); i < count; i++)
          euclidean(a.data_as<T>() + i * rows * n, b.data_as<T>() + i * columns * n, rows, columns, n,
                    out.data_as<T>() + i * rows * columns);
        return;
      }
    }
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) {
      for_each_matrix(product(batch) * rows, columns * std::max<int64_t>(1, n), [&](int64_t i) {
        const T *x = a.data_as<T>() + i * n, *y = b.data_as<T>() + i / std::max<int64_t>(1, rows) * columns * n;
        for (int64_t j = 0; j < columns; j++) out.data_as<T>()[i * columns + j] = distance(x, y + j * n, n, p);
      });
    }
  });
  return out;
}

Tensor pdist(const Tensor& self, double p) {
  UT_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  UT_CHECK(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  UT_CHECK(p >= 0, "pdist only supports non-negative p values");
  int64_t rows = self.size(0), n = self.size(1), count = rows * (rows - 1) / 2;
  Tensor x = contiguous(self), out = undertow::empty(Dims{std::max<int64_t>(0, count)}, self.dtype());
  dispatch_real(self.dtype(), "pdist", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || kIsHalf<T>) {
      T* to = out.data_as<T>();
      for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i + 1; j < rows; j++) *to++ = distance(x.data_as<T>() + i * n, x.data_as<T>() + j * n, n, p);
    }
  });
  return out;
}

}  // namespace undertow::fwd
