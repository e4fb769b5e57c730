// index_launch.h: what the launches of this folder share: words as wide as an element, nests, lists of positions.
#pragma once
#include <span>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/index/index_params.h"
#include "core/kernels/cuda/runtime/device_errors.h"
#include "core/kernels/index.h"

namespace undertow::core::cuda {

inline constexpr unsigned kIndexThreads = 256;

inline LaunchShape shape_of_index(int64_t n) {
  return {.blocks = std::min<int64_t>(blocks_for(n, kIndexThreads), 65536), .threads = kIndexThreads};
}

// A device type of this many bytes: 1, 2, 4, 8 or 16.
const char* word_of(int64_t bytes);

// A nest of no dimensions; add() takes dimensions from the outermost to the innermost and merges those that can be.
Nest empty_nest();
void add_dim(Nest& nest, int64_t size, int64_t first, int64_t second = 0, int64_t third = 0);

// May a block keep a row of `size` elements of so many bytes in shared memory, for `count` positions in each row?
inline bool keeps_row(int64_t size, int64_t bytes, int64_t count) {
  constexpr int64_t kSharedBytes = 48 * 1024, kLeast = 128;  // without asking for more; positions worth a block
  return size > 0 && size * bytes <= kSharedBytes && count >= kLeast && size <= 4 * count && count <= INT32_MAX;
}

PositionList list_of(const Tensor& positions, const IndexedDim& dim);
PositionLists lists_of(const Launcher& on, TensorSpan positions, std::span<const IndexedDim> dims);
inline undertow::DeviceErrorSlot* error_slot(const Launcher& on) { return device_error_slot(on.device()); }

// Must sums of floating numbers have the same bits in every run (use_deterministic_algorithms)?
bool wants_same_bits(DType dtype);
// The element of dst at each byte offset op= the element of src in its place of the nest, in that order.
void update_in_order(const Launcher& on, const Tensor& dst, const Tensor& offsets, const Tensor& src,
                     const Nest& others, int64_t others_count, const Nest& places, Update update);

// The kernels of IndexKernels that write or use masks.
void write(const Tensor& dst, const Tensor& offsets, int64_t first, const Tensor& src, Update update);
void scatter(const Tensor& out, const Tensor& at, const Tensor& src, const IndexedDim& dim, Update update);
void scale(const Tensor& t, const Scalar& by);
void divide_by_counts(const ElementwiseIter& iter, DType dtype);
void masked_fill(const ElementwiseIter& iter, const Tensor& value);
void masked_scatter(const Tensor& out, const Tensor& mask, const Tensor& source);
bool put_masked(const Tensor& out, TensorSpan indices, const Tensor& values, bool accumulate);
Tensor masked_select(const Tensor& in, const Tensor& mask);
Tensor nonzero(const Tensor& mask);

}  // namespace undertow::core::cuda
