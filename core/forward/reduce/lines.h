// lines.h: what the files on reductions, scans and sorts share: masks, checks, lines along a dimension.
#pragma once
#include "core/base/parallel.h"
#include "core/forward/forward_types.h"
#include "core/tensor/layout.h"

namespace undertow::fwd {

inline uint64_t all_dims(const Tensor& t) { return dim_mask({}, t.dim()); }
// None and an empty list mean all dims.
inline uint64_t mask_of(const std::optional<IntSpan>& dim, const Tensor& t) {
  return dim_mask(dim.value_or(IntSpan()), t.dim()) & all_dims(t);
}
// A zero-dimensional tensor accepts dim 0, and has none to reduce.
inline uint64_t one_dim(int64_t dim, const Tensor& t) { return uint64_t{1} << wrap_dim(dim, t.dim()) & all_dims(t); }

// d is wrapped already.
inline void check_nonempty_dim(const Tensor& self, int64_t d, const char* name) {
  UT_CHECK_INDEX(self.dim() == 0 || self.size(d) != 0, name, "(): Expected reduction dim ", d,
                 " to have non-zero size.");
}

template <class T>
struct RealOfType {
  using type = T;
};
template <class T>
struct RealOfType<std::complex<T>> {
  using type = T;
};
template <class T>
using RealOf = typename RealOfType<T>::type;

// float, double and the complex types.
template <class F>
decltype(auto) dispatch_inexact(DType t, F&& f) {
  switch (t) {
    case DType::Float32:
      return f(TypeTag<float>{});
    case DType::Float64:
      return f(TypeTag<double>{});
    case DType::Complex64:
      return f(TypeTag<Complex64>{});
    case DType::Complex128:
      return f(TypeTag<Complex128>{});
    default:
      UT_FAIL_AS(NotImplemented, "not implemented for '", long_name(t), "'");
  }
}
// Everything that can be ordered.
template <class F>
decltype(auto) dispatch_real(DType t, const char* name, F&& f) {
  switch (t) {
    case DType::Bool:
      return f(TypeTag<bool>{});
    case DType::UInt8:
      return f(TypeTag<uint8_t>{});
    case DType::Int8:
      return f(TypeTag<int8_t>{});
    case DType::Int16:
      return f(TypeTag<int16_t>{});
    case DType::Int32:
      return f(TypeTag<int32_t>{});
    case DType::Int64:
      return f(TypeTag<int64_t>{});
    case DType::Float16:
      return f(TypeTag<Half>{});
    case DType::BFloat16:
      return f(TypeTag<BFloat16>{});
    case DType::Float32:
      return f(TypeTag<float>{});
    case DType::Float64:
      return f(TypeTag<double>{});
    default:
      UT_FAIL_AS(NotImplemented, "\"", name, "\" not implemented for '", long_name(t), "'");
  }
}

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

// t as a tensor of at least one dimension, on the same memory.
inline Tensor at_least_1d(const Tensor& t) {
  const int64_t one = 1;
  return t.dim() ? t : alias(t, IntSpan(&one, 1), IntSpan(&one, 1), t.storage_offset(), t.dtype());
}
// A fresh tensor with dim `d` of size one removed (unless kept), or with no dims where the input had none.
Tensor drop_dim(const Tensor& t, int64_t d, bool keepdim, int64_t ndim);

// Walks the lines along dimension d of tensors that agree in all others (in d they may differ): f(char* const* starts).
// Fixed chunks of lines go to threads. At most 4 tensors, all of at least one dimension.
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
  int64_t stride;  // bytes
  T& operator[](int64_t i) const { return *reinterpret_cast<T*>(start + i * stride); }
};
template <class T>
Line<T> line(char* start, const Tensor& t, int64_t d) {
  return {start, t.stride(d) * t.itemsize()};
}

}  // namespace undertow::fwd
