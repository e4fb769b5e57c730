// lines.h: iterates over lines, the 1-D slices along one dimension, in parallel; and the order of elements with NaN.
#pragma once
#include "core/base/parallel.h"
#include "core/tensor/dtype/dispatch.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

// NaN counts as greater than every number.
template <class T>
inline bool less_nan_last(T a, T b) {
  auto x = static_cast<OpMath<T>>(a), y = static_cast<OpMath<T>>(b);
  if constexpr (std::is_integral_v<T>)
    return x < y;
  else
    return x < y || (y != y && x == x);
}
template <class T>
inline bool is_nan_value(T a) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return static_cast<OpMath<T>>(a) != static_cast<OpMath<T>>(a);
}

// Iterates over the lines along dimension d of tensors that have the same sizes in all other dimensions: f(char* const*
// starts). Fixed chunks of lines go to threads. At most 4 tensors, each with at least one dimension.
template <class F>
void for_each_line(int64_t d, std::initializer_list<const Tensor*> tensors, F&& f) {
  const Tensor& first = **tensors.begin();
  size_t count = tensors.size();
  const Tensor* list[4];
  std::copy(tensors.begin(), tensors.end(), list);
  int64_t lines = 1;
  for (int64_t k = 0; k < first.dim(); k++)
    if (k != d) lines *= first.size(k);
  int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, first.size(d)));
  parallel_for(0, lines, grain, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; n++) {
      char* p[4];
      for (size_t t = 0; t < count; t++) p[t] = list[t]->data();
      int64_t rest = n;
      for (int64_t k = first.dim() - 1; k >= 0; k--) {
        if (k == d) continue;
        int64_t i = rest % first.size(k);
        rest /= first.size(k);
        for (size_t t = 0; t < count; t++) p[t] += i * list[t]->stride(k) * list[t]->itemsize();
      }
      f(static_cast<char* const*>(p));
    }
  });
}

// One line of elements of type T.
template <class T>
struct Line {
  char* start;
  int64_t stride;  // in bytes
  T& operator[](int64_t i) const { return *reinterpret_cast<T*>(start + i * stride); }
};
template <class T>
Line<T> line(char* start, const Tensor& t, int64_t d) {
  return {start, t.stride(d) * t.itemsize()};
}

}  // namespace undertow::core::cpu
