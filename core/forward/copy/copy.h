// copy.h: copies elements between tensors of any dtype and layout. No graph, no versions.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::core::fwd {

// dst[...] = src broadcast to dst's shape, converting; honours conj and neg bits of both.
void copy_into(const Tensor& dst, const Tensor& src);
// src itself if it has that dtype, else a converted copy that keeps a dense layout.
Tensor to_dtype(const Tensor& src, DType dtype);
// src itself if it is row-major (and has no conj or neg bit), else a row-major copy.
Tensor contiguous(const Tensor& src);
// Always a copy, row-major, without conj or neg bit.
Tensor contiguous_copy(const Tensor& src);
// A dense copy that keeps the order of dimensions in memory, and the conj and neg bits.
Tensor clone_preserve(const Tensor& src);
// New memory of src's shape, with its dimensions ordered according to `format`; Preserve keeps src's order, without
// gaps.
Tensor empty_in_format(const Tensor& src, DType dtype, MemoryFormat format, Device device);
inline Tensor empty_in_format(const Tensor& src, DType dtype, MemoryFormat format) {
  return empty_in_format(src, dtype, format, src.device());
}
Dims format_strides(IntSpan sizes, MemoryFormat format);
// Strides of a dense tensor whose dimensions have the same order in memory as those given. The given strides if they
// are dense.
Dims dense_strides_like(IntSpan sizes, IntSpan strides);
bool is_in_format(const Tensor& t, MemoryFormat format);
// ChannelsLast or ChannelsLast3d for 4 or 5 dimensions with such strides, else Contiguous.
MemoryFormat suggested_format(IntSpan sizes, IntSpan strides);
inline MemoryFormat suggested_format(const Tensor& t) { return suggested_format(t.sizes(), t.strides()); }
// A copy with conj and neg bits resolved.
Tensor materialize_bits(const Tensor& src);
// Raises torch's error if dst's dtype cannot hold the number.
void fill_into(const Tensor& dst, const Scalar& value);
Tensor full(IntSpan sizes, const Scalar& value, DType dtype, Device device);
Tensor zeros(IntSpan sizes, DType dtype, Device device);
// On the device of another tensor.
inline Tensor zeros_on_device_of(const Tensor& t, IntSpan sizes, DType dtype) {
  return zeros(sizes, dtype, t.device());
}
inline Tensor full_on_device_of(const Tensor& t, IntSpan sizes, const Scalar& value, DType dtype) {
  return full(sizes, value, dtype, t.device());
}

}  // namespace undertow::core::fwd
