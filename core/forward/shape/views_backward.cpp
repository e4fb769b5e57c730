// views_backward.cpp: the transposes of views: a gradient put into zeros of the input's shape. Results have memory of
// their own.
// build: small
#include <algorithm>

#include "core/forward/copy/copy.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/index/index_kernels.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_shape.h"

namespace undertow::fwd {

Tensor select_backward(const Tensor& grad, IntSpan sizes, int64_t dim, int64_t index) {
  Tensor out = zeros(sizes, grad.dtype());
  copy_into(select(out, dim, index), grad);
  return out;
}
Tensor slice_backward(const Tensor& grad, IntSpan sizes, int64_t dim, std::optional<int64_t> start,
                      std::optional<int64_t> end, int64_t step) {
  Tensor out = zeros(sizes, grad.dtype());
  copy_into(slice(out, dim, start, end, step), grad);
  return out;
}
Tensor diagonal_backward(const Tensor& grad, IntSpan sizes, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor out = zeros(sizes, grad.dtype());
  copy_into(diagonal(out, offset, dim1, dim2), grad);
  return out;
}
Tensor diagonal_copy(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  return contiguous_copy(diagonal(self, offset, dim1, dim2));
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  UT_CHECK(self.dim() > 0, "diag_embed: a zero-dimensional tensor has no last dimension");
  int64_t n = self.dim() + 1;
  int64_t a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
  UT_CHECK(a != b, "diagonal dimensions cannot be identical ", dim1, ", ", dim2);
  int64_t width = self.size(-1) + std::abs(offset);
  Dims sizes(self.sizes());
  sizes.pop_back();
  sizes.insert(static_cast<size_t>(std::min(a, b)), width);
  sizes.insert(static_cast<size_t>(std::max(a, b)), width);
  Tensor out = zeros(sizes, self.dtype());
  copy_into(diagonal(out, offset, a, b), self);
  return out;
}

namespace {
// to += from, element by element, over threads.
template <class T>
void add_into(const Tensor& to, const Tensor& from) {
  ElementwiseIter iter;
  iter.add_output(to, to.dtype());
  iter.add_input(from);
  iter.build();
  cpu::walk(iter, [](char* const* p, const int64_t* s, int64_t n) {
    if constexpr (std::is_same_v<T, float>) {
      if (s[0] == sizeof(T) && s[1] == sizeof(T))
        return cpu::index_kernels().add_float(reinterpret_cast<float*>(p[0]), reinterpret_cast<const float*>(p[1]), n);
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

// Has every index an address of its own? Only if each stride steps over all that the smaller ones reach, which is all
// we look at.
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
}  // namespace

// Addresses may repeat. Where they do only along the last dimension, as in windows, its indices are added one after the
// other; elsewhere elements are, in order. So the sum does not depend on threads.
Tensor _strided_sum(const Tensor& self, IntSpan size, IntSpan stride, int64_t offset, int64_t extent) {
  Tensor out = zeros(IntSpan(&extent, 1), self.dtype()), in = expand(self, size, false);
  if (in.numel() == 0) return out;
  if (is_non_overlapping_and_dense(size, stride)) {
    copy_into(as_strided(out, size, stride, offset), in);
    return out;
  }
  size_t last = size.size() - 1;
  if (last > 0 && addresses_differ(size.subspan(0, last), stride.subspan(0, last))) {
    dispatch(self.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t j = 0; j < size[last]; j++)
        add_into<T>(as_strided(out, size.subspan(0, last), stride.subspan(0, last), offset + j * stride[last]),
                    select(in, -1, j));
    });
    return out;
  }
  dispatch(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = in.data_as<T>();
    T* to = out.data_as<T>() + offset;
    int64_t n = static_cast<int64_t>(size.size());
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
      if (d < 0) break;
    }
  });
  return out;
}

}  // namespace undertow::fwd
