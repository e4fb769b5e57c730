// index_common.h: what reads and writes by index share: positions, their checks, the read loop, reduction names.
// No graph, no Python.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/cpu/index/index_read.h"
#include "core/kernels/cpu/index/index_update.h"

namespace undertow::fwd {

using cpu::Update;

// The index as int64 (itself, or a copy).
Tensor as_int64(const Tensor& index);
// The first element of an int64 index outside [low, high), in order.
std::optional<int64_t> first_outside(const Tensor& index, int64_t low, int64_t high);
// Byte offsets of positions along a dimension; negative positions count from its end. Contiguous, shaped like index.
Tensor byte_offsets(const Tensor& index, int64_t size, int64_t stride_bytes);
// `offsets` (contiguous) += the same for one more index, broadcast to its shape.
void add_byte_offsets(const Tensor& offsets, const Tensor& index, int64_t size, int64_t stride_bytes);

// out[i] = the element of src at i, offsets[i] bytes on. Both have out's shape, with stride zero where the other
// decides. An undefined out is allocated in the order memory likes.
Tensor read_at(const Tensor& out, const Tensor& src, const Tensor& offsets);

// The same for row-major self and out, where the `indexed` dimensions from `first` on give way to `count` positions;
// false, with out unspecified, if a position is outside.
bool read_rows(const Tensor& out, const Tensor& self, size_t first, size_t indexed,
               std::span<const cpu::Positions> lists, int64_t count);

// t seen in the given shape; strides may be zero.
Tensor with_layout(const Tensor& t, IntSpan sizes, IntSpan strides);
// t broadcast to a shape it fits (checked by the caller).
Tensor broadcast(const Tensor& t, IntSpan sizes);

// out[mask] = values (or += values) for a mask of out's shape and values of its own count or one for all; false if they
// are neither.
bool put_masked(const Tensor& out, const Tensor& mask, const Tensor& values, bool accumulate);

// sum, prod, mean, amax, amin by name.
enum class ReduceKind : uint8_t { Sum, Prod, Mean, Max, Min };
Update update_of(ReduceKind kind);
// What leaves every other operand of the reduction unchanged, in dtype; needs 16 bytes.
void store_identity(void* bytes, ReduceKind kind, DType dtype);
// out /= counts, rounding down for integers; counts are int64 with zeros read as one.
void divide_by_counts(const Tensor& out, const Tensor& counts);

// A number as a zero-dimensional tensor of dtype, refused if it does not fit.
Tensor element_of(const Scalar& s, DType dtype);

}  // namespace undertow::fwd
