// matmul_small.cpp: vector products and inverses of small square matrices, by elimination with row exchanges.
#include <algorithm>
#include <cmath>

#include "core/base/parallel.h"
#include "core/forward/copy.h"
#include "core/forward/create.h"
#include "core/forward/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_linalg.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

namespace {

// Gauss-Jordan on rows `a` (destroyed), the inverse in rows `out`. The number of the first zero pivot, from 1, or 0.
template <class T>
int64_t invert(T* a, T* out, int64_t n) {
  std::fill(out, out + n * n, T(0));
  for (int64_t i = 0; i < n; i++) out[i * n + i] = T(1);
  for (int64_t c = 0; c < n; c++) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; r++)
      if (std::abs(a[r * n + c]) > std::abs(a[pivot * n + c])) pivot = r;
    if (a[pivot * n + c] == T(0)) return c + 1;
    if (pivot != c) {
      std::swap_ranges(a + c * n, a + c * n + n, a + pivot * n);
      std::swap_ranges(out + c * n, out + c * n + n, out + pivot * n);
    }
    T scale = T(1) / a[c * n + c];
    for (int64_t j = 0; j < n; j++) {
      a[c * n + j] *= scale;
      out[c * n + j] *= scale;
    }
    for (int64_t r = 0; r < n; r++) {
      T f = a[r * n + c];
      if (r == c || f == T(0)) continue;
      for (int64_t j = c; j < n; j++) a[r * n + j] -= f * a[c * n + j];
      for (int64_t j = 0; j < n; j++) out[r * n + j] -= f * out[c * n + j];
    }
  }
  return 0;
}

}  // namespace

Tensor linalg_inv(const Tensor& A) {
  UT_CHECK(A.dim() >= 2, "linalg.inv: The input tensor A must have at least 2 dimensions.");
  UT_CHECK(A.size(-1) == A.size(-2), "linalg.inv: A must be batches of square matrices, but they are ", A.size(-2), " by ", A.size(-1), " matrices");
  UT_CHECK(is_differentiable(A.dtype()), "linalg.inv: Expected a floating point or complex tensor as input. Got ", long_name(A.dtype()));
  UT_CHECK(!is_reduced_float(A.dtype()), "linalg.inv: Low precision dtypes not supported. Got ", long_name(A.dtype()));
  // Columns one after the other, as LAPACK leaves them.
  Dims strides = contiguous_strides(A.sizes());
  int64_t n = A.size(-1), count = n ? A.numel() / (n * n) : 0;
  if (n > 0) {
    strides[strides.size() - 2] = 1;
    strides[strides.size() - 1] = n;
  }
  Tensor out = undertow::empty_strided(A.sizes(), strides, A.dtype());
  if (A.numel() == 0) return out;
  // The inverse of the transpose is the transpose of the inverse: rows of memory suit both.
  Tensor work = undertow::empty_strided(A.sizes(), strides, A.dtype());
  copy_into(work, A);
  dispatch(A.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || kIsComplex<T>) {
      parallel_for(0, count, std::max<int64_t>(1, kParallelGrain / (n * n * n)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
          int64_t zero = invert(work.data_as<T>() + i * n * n, out.data_as<T>() + i * n * n, n);
          UT_CHECK(!zero, "linalg.inv: ", A.dim() > 2 ? str("(Batch element ", i, "): ") : std::string(), "The diagonal element ", zero,
                   " is zero, the inversion could not be completed because the input matrix is singular.");
        }
      });
    }
  });
  return out;
}

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  UT_CHECK(self.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions. Got ", self.dim(), " and ", other.dim());
  int64_t d = wrap_dim(dim, self.dim());
  UT_CHECK(self.dim() > 0 && self.size(d) == 3 && other.size(d) == 3, "linalg.cross: inputs dimension ", dim, " must have length 3. Got ",
           self.dim() ? self.size(d) : 1, " and ", other.dim() ? other.size(d) : 1);
  Dims sizes = broadcast_sizes(self.sizes(), other.sizes());
  UT_CHECK(self.dtype() == other.dtype(), "expected scalar type ", long_name(self.dtype()), " but found ", long_name(other.dtype()));
  UT_CHECK_AS(NotImplemented, self.dtype() != DType::Bool, "\"cross\" not implemented for 'Bool'");
  Tensor x = contiguous(expand(self, sizes, false)), y = contiguous(expand(other, sizes, false)), out = undertow::empty(sizes, self.dtype());
  int64_t inner = 1;
  for (size_t i = static_cast<size_t>(d) + 1; i < sizes.size(); i++) inner *= sizes[i];
  int64_t rows = out.numel() / 3;
  dispatch(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      using M = OpMath<T>;
      parallel_for(0, rows, kParallelGrain, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; r++) {
          int64_t at = r / inner * 3 * inner + r % inner;
          const T *a = x.data_as<T>() + at, *b = y.data_as<T>() + at;
          T* c = out.data_as<T>() + at;
          M a0 = M(a[0]), a1 = M(a[inner]), a2 = M(a[2 * inner]), b0 = M(b[0]), b1 = M(b[inner]), b2 = M(b[2 * inner]);
          // Each product rounds to the element type, as torch's do.
          auto difference = [](M x0, M y0, M x1, M y1) { return T(M(T(x0 * y0)) - M(T(x1 * y1))); };
          c[0] = difference(a1, b2, a2, b1);
          c[inner] = difference(a2, b0, a0, b2);
          c[2 * inner] = difference(a0, b1, a1, b0);
        }
      });
    }
  });
  return out;
}

}  // namespace undertow::fwd
