// layout.h: arithmetic on sizes and strides: contiguity, extents, broadcasting, dimension wrapping.
#pragma once
#include "core/base/error.h"
#include "core/base/small_vector.h"

namespace undertow::core {

// Prints [2, 3], as torch's messages do.
struct ShapeText {
  IntSpan sizes;
};
void append_text(std::string& out, ShapeText s);

inline bool same(IntSpan a, IntSpan b) { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); }
// Unsigned, because sizes such as (4, 2**61, 0) overflow on the way to a product that fits.
inline int64_t product(IntSpan s) {
  uint64_t n = 1;
  for (int64_t v : s) n *= static_cast<uint64_t>(v);
  return static_cast<int64_t>(n);
}

bool is_contiguous_layout(IntSpan sizes, IntSpan strides);
// Dense in some order of the dimensions, and no two elements share an address. Such a layout is worth preserving.
bool is_non_overlapping_and_dense(IntSpan sizes, IntSpan strides);
// True if two different indices may refer to the same element (an expanded tensor). Such a tensor must not be written.
bool has_internal_overlap(IntSpan sizes, IntSpan strides);
Dims contiguous_strides(IntSpan sizes);
// Number of elements from the offset to the last one addressed; 0 for an empty tensor.
int64_t storage_extent(IntSpan sizes, IntSpan strides);

// The broadcast shape of a and b; raises torch's error if there is none.
Dims broadcast_sizes(IntSpan a, IntSpan b);
// True if `from` can be expanded to `to`.
bool is_expandable_to(IntSpan from, IntSpan to);

// Wraps a negative dimension; raises torch's IndexError. A zero-dimensional tensor accepts -1 and 0.
int64_t wrap_dim(int64_t dim, int64_t ndim);
// The dimensions as a bit mask. An empty list means all dimensions by default. Raises for repeated dimensions.
uint64_t dim_mask(IntSpan dims, int64_t ndim, bool empty_means_all = true);
// Infers the size given as -1, if any, in the sizes of a view.
Dims infer_size(IntSpan shape, int64_t numel);
// Computes the strides that view memory of (sizes, strides) as `shape`; returns false if this needs a copy.
bool view_strides(IntSpan sizes, IntSpan strides, IntSpan shape, Dims& out);

}  // namespace undertow::core
