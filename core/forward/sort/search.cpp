// search.cpp: searches in sorted sequences, and histograms.
#include <cmath>

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/sort.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/layout.h"
#include "generated/fwd_sort.h"

namespace undertow::core::fwd {

namespace {

bool is_right(bool right, const std::optional<std::string_view>& side) {
  if (!side) return right;
  UT_CHECK(*side == "left" || *side == "right", "undertow.searchsorted(): side can only be 'left' or 'right' but got ",
           *side);
  UT_CHECK(!right || *side == "right",
           "undertow.searchsorted(): side and right can't be set to opposites, got side of ", *side,
           " while right was True");
  return *side == "right";
}

Tensor search(const Tensor& sequence, const Tensor& values, bool out_int32, bool right, const Tensor& sorter) {
  if (sequence.is_complex() || sequence.dtype() == DType::Bool)
    throw_not_implemented("searchsorted_out_cpu", sequence.dtype());
  Tensor keys = contiguous(sequence), in = contiguous(values), by = sorter.defined() ? contiguous(sorter) : Tensor(),
         out = empty_on_device_of(keys, values.sizes(), DType::Int64);
  backend_of(keys).sort->searchsorted(out, keys, in, by, right);
  return out_int32 ? to_dtype(out, DType::Int32) : out;
}

void check_search(const Tensor& sequence, IntSpan sizes, bool is_number, const Tensor& sorter) {
  constexpr const char* who = "undertow.searchsorted(): ";
  UT_CHECK(sequence.dim() != 0, who, "boundaries tensor should have positive dimension, but got 0 dimension");
  UT_CHECK(!is_number || sequence.dim() == 1, who,
           "input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim(",
           sequence.dim(), ") and input value's dim(0) numel(1)");
  bool match = sequence.dim() == 1 || sizes.size() == sequence.sizes().size();
  for (size_t d = 0; match && sequence.dim() > 1 && d + 1 < sizes.size(); d++) match = sizes[d] == sequence.sizes()[d];
  UT_CHECK(match, who,
           "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value "
           "tensor must match, but we got boundaries tensor ",
           ShapeText{sequence.sizes()}, " and input value tensor ", ShapeText{sizes});
  if (!sorter.defined()) return;
  UT_CHECK(same(sorter.sizes(), sequence.sizes()), who,
           "boundary and sorter must have the same size, but got boundary tensor ", ShapeText{sequence.sizes()},
           "and got sorter tensor ", ShapeText{sorter.sizes()});
  UT_CHECK(sorter.dtype() == DType::Int64, who, "sorter must be a tensor of long dtype but got dtype ",
           long_name(sorter.dtype()));
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  bool r = is_right(right, side);
  check_search(sorted_sequence, self.sizes(), self.dim() == 0 && self.numel() == 1, sorter);
  DType wide = promote_types(sorted_sequence.dtype(), self.dtype());
  return search(to_dtype(sorted_sequence, wide), to_dtype(self, wide), out_int32, r, sorter);
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                    std::optional<std::string_view> side, const Tensor& sorter) {
  bool r = is_right(right, side);
  check_search(sorted_sequence, {}, true, sorter);
  DType wide = promote_types(sorted_sequence.dtype(), scalar_dtype(self));
  return search(to_dtype(sorted_sequence, wide), full_on_device_of(sorted_sequence, {}, self, wide), out_int32, r,
                sorter);
}
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  UT_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  DType t = result_type(boundaries, self);
  return search(to_dtype(boundaries, t), to_dtype(self, t), out_int32, right, {});
}
Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  UT_CHECK(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", boundaries.dim(), ")");
  DType t = promote_types(boundaries.dtype(), scalar_dtype(self));
  return search(to_dtype(boundaries, t), full_on_device_of(boundaries, {}, self, t), out_int32, right, {});
}

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  UT_CHECK(bins > 0, "undertow.histc(): bins must be > 0, but got ", bins);
  if (self.dtype() != DType::Float32 && self.dtype() != DType::Float64 && !is_reduced_float(self.dtype()))
    throw_not_implemented("histogram_cpu", self.dtype());
  double low = min.to_double(), high = max.to_double();
  Tensor in = contiguous(to_dtype(self, DType::Float64));
  if (low != high) {
    UT_CHECK(std::isfinite(low) && std::isfinite(high), "undertow.histc: range of [", low, ", ", high,
             "] is not finite");
    UT_CHECK(low < high, "undertow.histc: max must be larger than min");
  }
  Tensor out = empty_on_device_of(in, IntSpan(&bins, 1), DType::Float64);
  backend_of(in).sort->histc(out, in, low, high);
  return to_dtype(out, self.dtype());
}

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  if (!is_integral(self.dtype()) || self.dtype() == DType::Bool || is_storage(self.dtype()))
    throw_not_implemented("bincount_cpu", self.dtype());
  UT_CHECK(minlength >= 0, "minlength should be >= 0");
  bool weighted = weights.defined() && weights.numel() > 0;
  if (self.dim() == 1 && self.numel() == 0) return zeros_on_device_of(self, IntSpan(&minlength, 1), DType::Int64);
  Tensor in = contiguous(to_dtype(self, DType::Int64));
  auto [least, most] = backend_of(in).sort->extent(in);
  UT_CHECK(self.dim() == 1 && least >= 0, "bincount only supports 1-d non-negative integral inputs.");
  UT_CHECK(!weights.defined() || (weights.dim() == 1 && weights.size(0) == self.size(0)),
           "weights should be 1-d and have the same length as input");
  UT_CHECK(most < INT64_MAX, "Storage size calculation overflowed: bincount of ", most, " would have one more element");
  int64_t n = std::max(most + 1, minlength);
  DType t = !weighted ? DType::Int64 : weights.dtype() == DType::Float32 ? DType::Float32 : DType::Float64;
  Tensor out = zeros_on_device_of(in, IntSpan(&n, 1), t);
  backend_of(in).sort->bincount(out, in, weighted ? contiguous(to_dtype(weights, t)) : Tensor());
  return out;
}

}  // namespace undertow::core::fwd
