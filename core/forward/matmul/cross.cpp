// cross.cpp: the vector product.
#include <algorithm>
#include <cmath>

#include "core/base/parallel.h"
#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_matmul.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  UT_CHECK(self.dim() == other.dim(), "linalg.cross: inputs must have the same number of dimensions. Got ", self.dim(),
           " and ", other.dim());
  int64_t d = wrap_dim(dim, self.dim());
  UT_CHECK(self.dim() > 0 && self.size(d) == 3 && other.size(d) == 3, "linalg.cross: inputs dimension ", dim,
           " must have length 3. Got ", self.dim() ? self.size(d) : 1, " and ", other.dim() ? other.size(d) : 1);
  Dims sizes = broadcast_sizes(self.sizes(), other.sizes());
  UT_CHECK(self.dtype() == other.dtype(), "expected scalar type ", long_name(self.dtype()), " but found ",
           long_name(other.dtype()));
  UT_CHECK_AS(NotImplemented, self.dtype() != DType::Bool, "\"cross\" not implemented for 'Bool'");
  Tensor x = contiguous(expand(self, sizes, false)), y = contiguous(expand(other, sizes, false)),
         out = undertow::empty(sizes, self.dtype());
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
