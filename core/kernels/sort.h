// sort.h: kernels that sort elements, search in sorted ones, and count equal ones. Real dtypes only.
#pragma once
#include <utility>

#include "core/kernels/kernel.h"

namespace undertow::core {

// Distinct elements, the index of each input element among them, and their counts. Results that were not requested are
// empty.
struct UniqueElements {
  Tensor values, inverse, counts;
};

struct SortKernels {
  // Sorts each 1-D slice along d, and gives the original indices. Stable; NaN counts as the greatest. Any strides.
  Kernel<"sort", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool descending)> sort;
  // The k least or greatest elements of each 1-D slice along d, where k is the size of values in d. Any strides.
  Kernel<"topk",
         void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool largest, bool sorted)>
      topk;
  // out = the number of keys less than each value; with `right`, less than or equal. keys are sorted along the last
  // dimension, or through the indices of `sorter` if that is defined; raises if such an index is out of range. All are
  // row-major, keys and values of the same dtype, out int64. There is one row of keys for all values, or one per row of
  // values.
  Kernel<"searchsorted",
         void(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& sorter, bool right)>
      searchsorted;
  // out[b] = the number of elements in bin b of [low, high], both row-major and double. If low equals high, the range
  // is that of the elements.
  Kernel<"histc", void(const Tensor& out, const Tensor& in, double low, double high)> histc;
  // The minimum and maximum of 0 and all elements, which determine the number of bins. Row-major int64.
  Kernel<"bincount", std::pair<int64_t, int64_t>(const Tensor& in)> extent;
  // out[in[i]] += 1, or weights[i] if defined. out holds zeros on entry: int64, or the weights' dtype, float or double.
  // Row-major.
  Kernel<"bincount", void(const Tensor& out, const Tensor& in, const Tensor& weights)> bincount;
  // The distinct elements of a row-major tensor: sorted, or one per run of equal elements, in order. The result's size
  // depends on the elements, so the kernel allocates it; inverse has in's shape.
  Kernel<"unique", UniqueElements(const Tensor& in, bool sort, bool inverse, bool counts)> unique;
  // The same for the rows of a row-major tensor: its slices along dimension 0.
  Kernel<"unique_dim", UniqueElements(const Tensor& rows, bool sort, bool inverse, bool counts)> unique_rows;
  // out[i] = is in[i] in `among` (or, with `invert`, not in it)? Row-major; in and among of the same dtype, out bool.
  Kernel<"isin", void(const Tensor& out, const Tensor& in, const Tensor& among, bool invert)> isin;
};

}  // namespace undertow::core
