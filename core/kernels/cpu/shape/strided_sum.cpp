// strided_sum.cpp: the CPU's ShapeKernels: adds elements into memory at strided offsets that may repeat.
// build: small
#include <algorithm>

#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/index/index_loops.h"
#include "core/kernels/shape.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

// to += from, elementwise, in parallel.
template <class T>
void add_into(const Tensor& to, const Tensor& from) {
  ElementwiseIter iter;
  iter.add_output(to, to.dtype());
  iter.add_input(from);
  iter.build();
  walk(iter, [](char* const* p, const int64_t* s, int64_t n) {
    if constexpr (std::is_same_v<T, float>) {
      if (s[0] == sizeof(T) && s[1] == sizeof(T))
        return index_loops().add_float(reinterpret_cast<float*>(p[0]), reinterpret_cast<const float*>(p[1]), n);
    }
    char *o = p[0], *in = p[1];
    for (int64_t i = 0; i < n; i++, o += s[0], in += s[1]) {
      T &a = *reinterpret_cast<T*>(o), b = *reinterpret_cast<const T*>(in);
      if constexpr (std::is_same_v<T, bool>)
        a = a || b;
      else
        a = T(static_cast<OpMath<T>>(a) + static_cast<OpMath<T>>(b));
    }
  });
}

// Does every index have its own offset? A sufficient test: each stride must exceed the extent of all smaller ones.
bool addresses_differ(IntSpan size, IntSpan stride) {
  SmallVector<std::pair<int64_t, int64_t>, 8> dims;
  for (size_t d = 0; d < size.size(); d++)
    if (size[d] > 1) dims.push_back({stride[d], size[d]});
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (auto [step, n] : dims) {
    if (step <= reach) return false;
    reach += step * (n - 1);
  }
  return true;
}

// Element by element, in order.
template <class T>
void add_in_order(const Tensor& out, const Tensor& in, IntSpan stride, int64_t offset) {
  IntSpan size = in.sizes();
  const T* from = in.data_as<T>();
  T* to = out.data_as<T>() + offset;
  int64_t n = in.dim();
  if (n == 0) {
    *to = *from;
    return;
  }
  Dims index(static_cast<size_t>(n), 0);
  int64_t inner = size[static_cast<size_t>(n - 1)], step = stride[static_cast<size_t>(n - 1)],
          in_step = in.stride(n - 1);
  for (;;) {
    const T* f = from;
    T* p = to;
    for (int64_t d = 0; d + 1 < n; d++) {
      f += index[static_cast<size_t>(d)] * in.stride(d);
      p += index[static_cast<size_t>(d)] * stride[static_cast<size_t>(d)];
    }
    for (int64_t i = 0; i < inner; i++, f += in_step, p += step) {
      if constexpr (std::is_same_v<T, bool>)
        *p = *p || *f;
      else
        *p = T(static_cast<OpMath<T>>(*p) + static_cast<OpMath<T>>(*f));
    }
    int64_t d = n - 2;
    for (; d >= 0 && ++index[static_cast<size_t>(d)] == size[static_cast<size_t>(d)]; d--)
      index[static_cast<size_t>(d)] = 0;
    if (d < 0) return;
  }
}

// If offsets repeat only along the last dimension, as in windows, its indices are added one after the other; otherwise
// single elements are added in order. So the sum does not depend on the number of threads.
void strided_sum(const Tensor& out, const Tensor& in, IntSpan stride, int64_t offset) {
  IntSpan size = in.sizes();
  size_t last = size.size() - 1;
  bool windows = size.size() > 1 && addresses_differ(size.subspan(0, last), stride.subspan(0, last));
  dispatch(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (!windows) return add_in_order<T>(out, in, stride, offset);
    IntSpan outer = size.subspan(0, last);
    for (int64_t j = 0; j < size[last]; j++)
      add_into<T>(
          alias(out, outer, stride.subspan(0, last), offset + j * stride[last], out.dtype()),
          alias(in, outer, in.strides().subspan(0, last), in.storage_offset() + j * in.strides()[last], in.dtype()));
  });
}

}  // namespace

constinit const ShapeKernels shape_kernels = {.strided_sum = strided_sum};

}  // namespace undertow::core::cpu
