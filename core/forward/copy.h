// copy.h: moving elements between tensors of any dtype and layout. No graph, no versions.
#pragma once
#include "core/forward/forward_types.h"

namespace undertow::fwd {

// dst[...] = src broadcast to dst's shape, converting; honours conj and neg bits of both.
void copy_into(const Tensor& dst, const Tensor& src);
// src itself if it has that dtype, else a converted copy that keeps a dense layout.
Tensor to_dtype(const Tensor& src, DType dtype);
// Row-major: src itself if it is (and has no conj or neg bit), else a copy.
Tensor contiguous(const Tensor& src);
// A copy; keeps the layout when it is dense, row-major otherwise.
Tensor clone_preserve(const Tensor& src);
// A copy whose elements are what they read as: no conj or neg bit.
Tensor materialize_bits(const Tensor& src);
void fill_into(const Tensor& dst, const Scalar& value);
Tensor full(IntSpan sizes, const Scalar& value, DType dtype);
Tensor zeros(IntSpan sizes, DType dtype);

}  // namespace undertow::fwd
