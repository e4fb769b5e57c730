// index_common.cpp: see index_common.h.
#include "core/forward/index/index_common.h"

#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/backend.h"
#include "core/kernels/copy.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"

namespace undertow::core::fwd {

void warn_if_expanded(const Tensor& out, const char* name, const char* example) {
  if (UT_LIKELY(out.is_contiguous() || !has_internal_overlap(out.sizes(), out.strides()))) return;
  warn(str("Use of ", name,
           " on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
           "applies to advanced indexing e.g. ",
           example));
}

Tensor as_int64(const Tensor& index) { return to_dtype(index, DType::Int64); }

Tensor with_layout(const Tensor& t, IntSpan sizes, IntSpan strides) {
  return alias(t, sizes, strides, t.storage_offset(), t.dtype());
}

Tensor broadcast(const Tensor& t, IntSpan sizes) {
  if (same(t.sizes(), sizes)) return t;
  Dims strides(sizes.size(), 0);
  size_t shift = sizes.size() - t.sizes().size();
  for (size_t d = 0; d < t.sizes().size(); d++)
    strides[shift + d] = t.sizes()[d] == 1 && sizes[shift + d] != 1 ? 0 : t.strides()[d];
  return with_layout(t, sizes, strides);
}

Tensor copy_if_overlapping(const Tensor& out, const Tensor& src) {
  return out.numel() && &out.storage() == &src.storage() ? clone_preserve(src) : src;
}

Tensor on_device(const Tensor& t, Device device) {
  if (UT_LIKELY(t.device() == device)) return t;
  Tensor out = empty_in_format(t, t.dtype(), MemoryFormat::Preserve, device);
  copy_into(out, t);
  return out;
}

bool all_within(const Tensor& index, int64_t low, int64_t high) {
  return backend_of(index).index->all_within(index, low, high);
}

Tensor byte_offsets(const Tensor& index, const IndexedDim& dim) {
  Tensor in = contiguous(index), out = empty_on_device_of(index, index.sizes(), DType::Int64);
  backend_of(out).index->offsets(out, {&in, 1}, {&dim, 1});
  return out;
}

Update update_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Prod:
      return Update::Multiply;
    case ReduceKind::Max:
      return Update::Max;
    case ReduceKind::Min:
      return Update::Min;
    default:
      return Update::Add;
  }
}

Tensor identity_of(ReduceKind kind, const Tensor& t) {
  Scalar value(kind == ReduceKind::Prod ? 1 : 0);
  if (kind == ReduceKind::Max || kind == ReduceKind::Min) {
    bool lowest = kind == ReduceKind::Max;
    value = dispatch(t.dtype(), [&](auto tag) -> Scalar {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>)
        return Scalar(static_cast<long>(lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max()));
      else if constexpr (!kIsComplex<T>)
        return Scalar(lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
      else
        return Scalar(0);
    });
  }
  return full_on_device_of(t, {}, value, t.dtype());
}

void divide_by_counts(const Tensor& out, const Tensor& counts) {
  ElementwiseIter iter;
  iter.add_output(out, out.dtype());
  iter.add_input(counts);
  iter.build();
  backend_of(out).index->divide_by_counts(iter, out.dtype());
}

Tensor element_of(const Scalar& s, const Tensor& t) { return full_on_device_of(t, {}, s, t.dtype()); }

Tensor element_of(const Tensor& value, const Tensor& t) {
  Tensor element = empty_on_device_of(value, {}, t.dtype());
  backend_of(value).copy->convert_checked(element, materialize_bits(value), check_fits);
  return on_device(element, t.device());
}

}  // namespace undertow::core::fwd
