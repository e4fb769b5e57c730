// distance.cpp: forward functions of cdist and pdist: distances between rows of matrices.
// build: small
#include "core/kernels/distance.h"
#include "core/forward/linalg/batch.h"
#include "core/kernels/backend.h"
#include "generated/fwd_distance.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

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
  Tensor out = empty_on_device_of(x1, joined(batch, {rows, columns}), x1.dtype());
  if (out.numel()) backend_of(out).distance->cdist(out, a, b, p);
  return out;
}

Tensor pdist(const Tensor& self, double p) {
  UT_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  UT_CHECK(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  UT_CHECK(p >= 0, "pdist only supports non-negative p values");
  int64_t rows = self.size(0), count = rows * (rows - 1) / 2;
  Tensor x = contiguous(self), out = empty_on_device_of(self, Dims{std::max<int64_t>(0, count)}, self.dtype());
  if (out.numel()) backend_of(out).distance->pdist(out, x, p);
  return out;
}

}  // namespace undertow::core::fwd
