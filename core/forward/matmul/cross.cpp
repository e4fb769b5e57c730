// cross.cpp: the cross product.
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/matmul.h"
#include "core/tensor/layout.h"
#include "generated/fwd_matmul.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

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
         out = empty_on_device_of(self, sizes, self.dtype());
  backend_of(out).matmul->cross(out, x, y, d);
  return out;
}

}  // namespace undertow::core::fwd
