// sort.cpp: sorting and selecting along one dimension: forward functions of ops/sort.toml.
#include "core/kernels/sort.h"

#include "core/forward/copy/carriers.h"
#include "core/forward/copy/copy.h"
#include "core/forward/reduce/dims.h"
#include "core/kernels/backend.h"
#include "generated/fwd_sort.h"

namespace undertow::core::fwd {

namespace {

using Picked = std::tuple<Tensor, Tensor>;

Picked as_given(const Tensor& self, const Tensor& values, const Tensor& indices) {
  if (self.dim()) return {values, indices};
  return {drop_dim(values, 0, false, 0), drop_dim(indices, 0, false, 0)};
}

}  // namespace

Picked sort(const Tensor& self, int64_t dim, bool descending) { return sort(self, std::nullopt, dim, descending); }
Picked sort(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  int64_t d = wrap_dim(dim, self.dim());
  Tensor in = at_least_1d(to_ordered_carrier(self));
  Dims strides = dense_strides_like(in.sizes(), in.strides());
  Tensor values = empty_strided_on_device_of(in, in.sizes(), strides, in.dtype()),
         indices = empty_strided_on_device_of(in, in.sizes(), strides, DType::Int64);
  UT_CHECK(!in.is_complex(), "Sort currently does not support complex dtypes on CPU, got ", in.dtype());
  if (in.numel()) backend_of(in).sort->sort(values, indices, in, d, descending);
  if (is_wide_unsigned(self.dtype())) values = from_ordered_carrier(values, self.dtype());
  return as_given(self, values, indices);
}

Picked topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  int64_t d = wrap_dim(dim, self.dim());
  Tensor in = at_least_1d(self);
  int64_t n = in.size(d);
  UT_CHECK(!in.is_complex(), "topk does not support complex dtypes on CPU");
  UT_CHECK(in.dtype() != DType::Bool, "topk does not support bool dtypes on CPU");
  UT_CHECK(k >= 0 && k <= n, "selected index k out of range: k is ", k, ", dimension ", d, " has ", n, " elements");
  Dims sizes(in.sizes());
  sizes[static_cast<size_t>(d)] = k;
  Tensor values = empty_on_device_of(in, sizes, in.dtype()), indices = empty_on_device_of(in, sizes, DType::Int64);
  if (values.numel()) backend_of(in).sort->topk(values, indices, in, d, largest, sorted);
  if (!self.dim() && k == 0) return {values, indices};
  return as_given(self, values, indices);
}

}  // namespace undertow::core::fwd
