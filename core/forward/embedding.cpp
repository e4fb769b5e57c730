// embedding.cpp: bags of table rows: sums, means and maxima; and torch's checks of them.
// build: small
#include "core/kernels/embedding.h"
#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd_embedding.h"

namespace undertow::core::fwd {

namespace {
constexpr int64_t kSum = static_cast<int64_t>(BagMode::Sum), kMax = static_cast<int64_t>(BagMode::Max);

Tensor checked_integers(const Tensor& t, const char* what) {
  UT_CHECK(t.dtype() == DType::Int64 || t.dtype() == DType::Int32, "Expected tensor for argument #1 '", what,
           "' to have one of the following scalar types: Long, Int; but got undertow.", long_name(t.dtype()),
           "Tensor instead (while checking arguments for embedding_bag)");
  UT_CHECK(t.dim() == 1, "embedding_bag: expected ", what, " of one dimension, got ", t.dim());
  return contiguous(to_dtype(t, DType::Int64));
}
}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> _embedding_bag(const Tensor& weight, const Tensor& indices,
                                                          const Tensor& offsets, bool, int64_t mode,
                                                          const Tensor& scales, bool last, int64_t padding_idx, bool) {
  UT_CHECK(weight.dim() == 2, "embedding_bag: expected a weight of two dimensions, got ", weight.dim());
  UT_CHECK(mode >= kSum && mode <= kMax, "`mode` must be sum, mean, or max.");
  UT_CHECK(is_floating(weight.dtype()) && !is_float8(weight.dtype()),
           "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
           "Double; but got undertow.",
           long_name(weight.dtype()), "Tensor instead (while checking arguments for embedding_bag)");
  UT_CHECK(!scales.defined() || scales.dtype() == weight.dtype(),
           "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 ",
           "'per_sample_weights'; but type undertow.", long_name(weight.dtype()), "Tensor does not equal undertow.",
           long_name(scales.defined() ? scales.dtype() : weight.dtype()),
           "Tensor (while checking arguments for embedding_bag)");
  UT_CHECK(!scales.defined() || mode == kSum, "embedding_bag: per_sample_weights only supported with mode='sum'");
  UT_CHECK(!scales.defined() || same(scales.sizes(), indices.sizes()),
           "embedding_bag: per_sample_weights must have the shape of the indices");
  Tensor index = checked_integers(indices, "indices"), starts = checked_integers(offsets, "offsets");
  int64_t n = index.numel(), given = starts.numel(), width = weight.size(1);
  UT_CHECK(!last || given >= 1, "include_last_offset: number of offset should be at least 1");
  int64_t bags = given - (last ? 1 : 0), none = 0;
  const Dims out_sizes{bags, width};
  BagOperands from{contiguous(weight), index, starts, scales.defined() ? contiguous(scales) : Tensor()};
  BagResults to{empty_on_device_of(weight, out_sizes, weight.dtype()),
                empty_on_device_of(weight, IntSpan(&n, 1), DType::Int64),
                empty_on_device_of(weight, IntSpan(&bags, 1), DType::Int64),
                empty_on_device_of(weight, mode == kMax ? IntSpan(out_sizes) : IntSpan(&none, 1), DType::Int64)};
  backend_of(weight).embedding->bags(to, from, {static_cast<BagMode>(mode), last, padding_idx});
  return {to.out, to.bag_of, to.counts, to.maxima};
}

}  // namespace undertow::core::fwd
