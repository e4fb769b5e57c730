// rows.h: calls a function for every line of a tensor along a dimension, with lines of values and indices for its
// results.
#pragma once
#include <algorithm>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/sort/keys.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

// Each element takes more work than in a pointwise loop, so a chunk has fewer elements.
constexpr int64_t kSortGrain = 4096;

// Calls f(line of in, line of values, line of indices) for row-major tensors, along their last dimension.
template <class T, class F>
void for_rows(const Tensor& in, const Tensor& values, const Tensor& indices, F&& f) {
  int64_t n = in.size(-1), k = values.size(-1), w = in.itemsize();
  if (n == 0 || k == 0) return;
  parallel_for(0, in.numel() / n, std::max<int64_t>(1, kSortGrain / n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++)
      f(Line<T>{in.data() + r * n * w, w}, values.data_as<T>() + r * k, indices.data_as<int64_t>() + r * k);
  });
}

// Dimension d swapped with the last one.
inline Tensor with_last(const Tensor& t, int64_t d) {
  Dims sizes(t.sizes()), strides(t.strides());
  std::swap(sizes[static_cast<size_t>(d)], sizes.back());
  std::swap(strides[static_cast<size_t>(d)], strides.back());
  return alias(t, sizes, strides, t.storage_offset(), t.dtype());
}

// rows(in, values, indices) does the work on row-major tensors along the last dimension; other layouts are converted to
// that and back.
template <class Rows>
void along(int64_t d, const Tensor& in, const Tensor& values, const Tensor& indices, Rows&& rows) {
  if (d == in.dim() - 1 && in.is_contiguous() && values.is_contiguous() && indices.is_contiguous())
    return rows(in, values, indices);
  Tensor v = with_last(values, d), i = with_last(indices, d);
  Tensor plain_v = empty_on_device_of(v, v.sizes(), v.dtype()),
         plain_i = empty_on_device_of(i, i.sizes(), DType::Int64);
  rows(contiguous(with_last(in, d)), plain_v, plain_i);
  copy(v, plain_v);
  copy(i, plain_i);
}

}  // namespace undertow::core::cpu
