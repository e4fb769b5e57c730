// index_common.h: what reads and writes by index share: checks, offsets, reduction names. No graph, no Python.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/index.h"

namespace undertow::core::fwd {

// A write to a tensor of which several elements share memory: accepted with torch's warning. `name`: "index_put_";
// `example`: "tensor[indices] = tensor".
void warn_if_expanded(const Tensor& out, const char* name, const char* example);

// The index as int64 (itself, or a copy).
Tensor as_int64(const Tensor& index);
// Are all indices in [low, high)? A device without elements answers yes.
bool all_within(const Tensor& index, int64_t low, int64_t high);
// The byte offset of each index along a dimension, checked. Row-major, with index's shape.
Tensor byte_offsets(const Tensor& index, const IndexedDim& dim);

// A view of t with the given shape; strides may be zero.
Tensor with_layout(const Tensor& t, IntSpan sizes, IntSpan strides);
// t broadcast to a compatible shape (checked by the caller).
Tensor broadcast(const Tensor& t, IntSpan sizes);
// A copy of src if it shares memory with out.
Tensor copy_if_overlapping(const Tensor& out, const Tensor& src);
// t itself, or a copy, on that device.
Tensor on_device(const Tensor& t, Device device);

// Reductions with the names sum, prod, mean, amax, amin.
enum class ReduceKind : uint8_t { Sum, Prod, Mean, Max, Min };
Update update_of(ReduceKind kind);
// The identity element of the reduction: one element with t's device and dtype.
Tensor identity_of(ReduceKind kind, const Tensor& t);
// out /= counts, rounding down for integers; counts are int64, and zeros count as one.
void divide_by_counts(const Tensor& out, const Tensor& counts);

// A number as a 0-dimensional tensor with t's device and dtype; raises if it does not fit.
Tensor element_of(const Scalar& s, const Tensor& t);
// The same for the only element of a tensor.
Tensor element_of(const Tensor& value, const Tensor& t);

}  // namespace undertow::core::fwd
