// layout.h: arithmetic on sizes and strides: contiguity, extents, broadcasting, dimension wrapping.
#pragma once
#include <ostream>

#include "core/base/error.h"
#include "core/base/small_vector.h"

namespace undertow {

// Prints [2, 3], as torch's messages do.
struct ShapeText {
  IntSpan sizes;
};
std::ostream& operator<<(std::ostream& out, ShapeText s);

inline bool same(IntSpan a, IntSpan b) { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); }
inline int64_t product(IntSpan s) {
  int64_t n = 1;
  for (int64_t v : s) n *= v;
  return n;
}

bool is_contiguous_layout(IntSpan sizes, IntSpan strides);
// Dense in some order of dimensions, no two elements sharing an address: such a layout is worth preserving.
bool is_non_overlapping_and_dense(IntSpan sizes, IntSpan strides);
// True if two different indices may address one element (an expanded tensor): such a tensor must not be written.
bool has_internal_overlap(IntSpan sizes, IntSpan strides);
Dims contiguous_strides(IntSpan sizes);
// Number of elements from offset to the last one addressed; 0 for an empty tensor.
int64_t storage_extent(IntSpan sizes, IntSpan strides);

// The common shape of a and b by the broadcasting rule, or torch's error.
Dims broadcast_sizes(IntSpan a, IntSpan b);
// True if `from` can be expanded to `to`.
bool is_expandable_to(IntSpan from, IntSpan to);

// -1 means the last dimension; raises IndexError in torch's words. A zero-dimensional tensor accepts -1 and 0.
int64_t wrap_dim(int64_t dim, int64_t ndim);
// A sorted-by-use set of reduced dimensions as a mask; empty list means all. Refuses repeats.
uint64_t dim_mask(IntSpan dims, int64_t ndim, bool empty_means_all = true);
// Resolves one -1 in a view's sizes.
Dims infer_size(IntSpan shape, int64_t numel);
// The strides under which memory of (sizes, strides) can be seen as `shape`; false when it needs a copy.
bool view_strides(IntSpan sizes, IntSpan strides, IntSpan shape, Dims& out);

}  // namespace undertow
