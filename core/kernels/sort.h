// sort.h: kernels that order elements, search among ordered ones, and count equal ones. Real dtypes only.
#pragma once
#include <utility>

#include "core/kernels/kernel.h"

namespace undertow {

// Distinct elements: which, where each element went, and how often each was met. What was not asked for is empty.
struct UniqueElements {
  Tensor values, inverse, counts;
};

struct SortKernels {
  // Each line along d in order, and where its elements were before; equal elements keep their order, NaN counts as the
  // greatest. Any strides.
  Kernel<"sort", void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool descending)> sort;
  // The k least or greatest of each line along d, k being the size of values there. Any strides.
  Kernel<"topk",
         void(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool largest, bool sorted)>
      topk;
  // out = how many keys come before each value; `right`: or equal it. keys are sorted along the last dimension, or
  // through the indices of `sorter` where that is defined, which raises where an index is out of range. All row-major,
  // keys and values of one dtype, out int64. One line of keys for all values, or one for each line of values.
  Kernel<"searchsorted",
         void(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& sorter, bool right)>
      searchsorted;
  // out[b] = the number of elements in bin b of [low, high], both row-major and double. Where low equals high the range
  // is that of the elements.
  Kernel<"histc", void(const Tensor& out, const Tensor& in, double low, double high)> histc;
  // The least and the greatest of 0 and all elements; the number of bins depends on it. Row-major int64.
  Kernel<"bincount", std::pair<int64_t, int64_t>(const Tensor& in)> extent;
  // out[in[i]] += 1, or weights[i] where they are defined. out holds zeros: of int64, or of the weights' dtype, float
  // or double. Row-major.
  Kernel<"bincount", void(const Tensor& out, const Tensor& in, const Tensor& weights)> bincount;
  // The distinct elements of a row-major tensor: sorted, or in the order in which runs of equal ones begin. The
  // result's size depends on the elements, so the kernel allocates it; inverse has in's shape.
  Kernel<"unique", UniqueElements(const Tensor& in, bool sort, bool inverse, bool counts)> unique;
  // The same for the rows of a row-major tensor: its slices along dimension 0.
  Kernel<"unique_dim", UniqueElements(const Tensor& rows, bool sort, bool inverse, bool counts)> unique_rows;
  // out[i] = is in[i] one of `among` (or, `invert`, none of them)? Row-major, in and among of one dtype, out bool.
  Kernel<"isin", void(const Tensor& out, const Tensor& in, const Tensor& among, bool invert)> isin;
};

}  // namespace undertow
