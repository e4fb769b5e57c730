// sort.cpp: sorting and selecting along one dimension: forward functions of ops/sort.toml.
#include <algorithm>
#include <new>
#include <numeric>
#include <span>

#include "core/forward/copy.h"
#include "core/forward/reduce_util.h"
#include "core/kernels/cpu/scratch.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_sort.h"

namespace undertow::fwd {

namespace {

using Picked = std::tuple<Tensor, Tensor>;

template <class T>
struct Keyed {
  T key;
  int64_t index;
};

// NaN counts as the greatest.
template <class T>
bool before(const Keyed<T>& a, const Keyed<T>& b, bool descending) {
  return descending ? less_nan_last<T>(b.key, a.key) : less_nan_last<T>(a.key, b.key);
}

struct SortKeys;  // the purpose of borrowed memory

// A line's elements with their places, in memory that the thread keeps.
template <class T>
std::span<Keyed<T>> gather_line(const Line<T>& x, int64_t n) {
  Keyed<T>* to = cpu::Scratch<SortKeys>::get<Keyed<T>>(n);
  for (int64_t i = 0; i < n; i++) new (to + i) Keyed<T>{x[i], i};
  return {to, static_cast<size_t>(n)};
}

Picked as_given(const Tensor& self, const Tensor& values, const Tensor& indices) {
  if (self.dim()) return {values, indices};
  return {drop_dim(values, 0, false, 0), drop_dim(indices, 0, false, 0)};
}

}  // namespace

Picked sort(const Tensor& self, int64_t dim, bool descending) { return sort(self, std::nullopt, dim, descending); }
Picked sort(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  int64_t d = wrap_dim(dim, self.dim());
  Tensor in = at_least_1d(self);
  Dims strides = is_non_overlapping_and_dense(in.sizes(), in.strides()) ? Dims(in.strides()) : contiguous_strides(in.sizes());
  Tensor values = empty_strided(in.sizes(), strides, in.dtype()), indices = empty_strided(in.sizes(), strides, DType::Int64);
  int64_t n = in.size(d);
  UT_CHECK(!in.is_complex(), "Sort currently does not support complex dtypes on CPU, got ", in.dtype());
  if (in.numel())
    dispatch_real(in.dtype(), "sort", [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_each_line(d, {&in, &values, &indices}, [&](char* const* p) {
        std::span<Keyed<T>> keys = gather_line(line<T>(p[0], in, d), n);
        std::stable_sort(keys.begin(), keys.end(), [&](const Keyed<T>& a, const Keyed<T>& b) { return before(a, b, descending); });
        Line<T> v = line<T>(p[1], values, d);
        Line<int64_t> at = line<int64_t>(p[2], indices, d);
        for (int64_t i = 0; i < n; i++) {
          v[i] = keys[static_cast<size_t>(i)].key;
          at[i] = keys[static_cast<size_t>(i)].index;
        }
      });
    });
  return as_given(self, values, indices);
}

// Among equals the choice is that of torch's algorithms, so the same ones are used: a heap for few of many, else a
// partition that is then sorted.
Picked topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  int64_t d = wrap_dim(dim, self.dim());
  Tensor in = at_least_1d(self);
  int64_t n = in.size(d);
  UT_CHECK(!in.is_complex(), "topk does not support complex dtypes on CPU");
  UT_CHECK(in.dtype() != DType::Bool, "topk does not support bool dtypes on CPU");
  UT_CHECK(k >= 0 && k <= n, "selected index k out of range: k is ", k, ", dimension ", d, " has ", n, " elements");
  Dims sizes(in.sizes());
  sizes[static_cast<size_t>(d)] = k;
  Tensor values = empty(sizes, in.dtype()), indices = empty(sizes, DType::Int64);
  if (values.numel())
    dispatch_real(in.dtype(), "topk_cpu", [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_each_line(d, {&in, &values, &indices}, [&](char* const* p) {
        std::span<Keyed<T>> keys = gather_line(line<T>(p[0], in, d), n);
        auto order = [&](const Keyed<T>& a, const Keyed<T>& b) { return before(a, b, largest); };
        if (k * 64 <= n) {
          std::partial_sort(keys.begin(), keys.begin() + k, keys.end(), order);
        } else {
          std::nth_element(keys.begin(), keys.begin() + k - 1, keys.end(), order);
          if (sorted) std::sort(keys.begin(), keys.begin() + k - 1, order);
        }
        Line<T> v = line<T>(p[1], values, d);
        Line<int64_t> at = line<int64_t>(p[2], indices, d);
        for (int64_t i = 0; i < k; i++) {
          v[i] = keys[static_cast<size_t>(i)].key;
          at[i] = keys[static_cast<size_t>(i)].index;
        }
      });
    });
  if (!self.dim() && k == 0) return {values, indices};
  return as_given(self, values, indices);
}

}  // namespace undertow::fwd
