// index_common.cpp: see index_common.h.
#include "core/forward/index/index_common.h"

#include <cstring>
#include <limits>

#include "core/forward/copy/copy.h"
#include "core/forward/create/create.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"

namespace undertow::fwd {

Tensor as_int64(const Tensor& index) { return to_dtype(index, DType::Int64); }

Tensor with_layout(const Tensor& t, IntSpan sizes, IntSpan strides) {
  return alias(t, sizes, strides, t.storage_offset(), t.dtype());
}

Tensor broadcast(const Tensor& t, IntSpan sizes) {
  if (same(t.sizes(), sizes)) return t;
  Dims strides(sizes.size(), 0);
  size_t shift = sizes.size() - t.sizes().size();
  for (size_t d = 0; d < t.sizes().size(); d++)
    strides[shift + d] = t.sizes()[d] == 1 && sizes[shift + d] != 1 ? 0 : t.strides()[d];
  return with_layout(t, sizes, strides);
}

std::optional<int64_t> first_outside(const Tensor& index, int64_t low, int64_t high) {
  Tensor in = contiguous(index);
  const int64_t* p = in.data_as<int64_t>();
  int64_t at = cpu::first_outside(p, in.numel(), low, high);
  if (at == in.numel()) return std::nullopt;
  return p[at];
}

Tensor byte_offsets(const Tensor& index, int64_t size, int64_t stride_bytes) {
  Tensor in = contiguous(index), out = empty(index.sizes(), DType::Int64);
  cpu::Positions list{in.data_as<int64_t>(), size, stride_bytes, true};
  cpu::byte_offsets(out.data_as<int64_t>(), {&list, 1}, in.numel());
  return out;
}

bool read_rows(const Tensor& out, const Tensor& self, size_t first, size_t indexed,
               std::span<const cpu::Positions> lists, int64_t count) {
  int64_t outer = product(self.sizes().subspan(0, first)), run = product(self.sizes().subspan(first + indexed));
  return cpu::read_rows(
      {out.data(), self.data(), outer, product(self.sizes().subspan(first)) * self.itemsize(), run, self.itemsize()},
      lists, count);
}

void add_byte_offsets(const Tensor& offsets, const Tensor& index, int64_t size, int64_t stride_bytes) {
  ElementwiseIter iter;
  iter.add_output(offsets, DType::Int64);
  iter.add_input(broadcast(index, offsets.sizes()));
  iter.build();
  cpu::walk(iter, [&](char* const* p, const int64_t* s, int64_t n) {
    char *o = p[0], *in = p[1];
    for (int64_t i = 0; i < n; i++, o += s[0], in += s[1]) {
      int64_t v = *reinterpret_cast<const int64_t*>(in);
      *reinterpret_cast<int64_t*>(o) += (v < 0 ? v + size : v) * stride_bytes;
    }
  });
}

Tensor read_at(const Tensor& out, const Tensor& src, const Tensor& offsets) {
  ElementwiseIter iter;
  iter.add_output(out, src.dtype());
  iter.add_input(src);
  iter.add_input(offsets);
  iter.build();
  dispatch_width(src.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    cpu::walk(iter, [](char* const* p, const int64_t* s, int64_t n) {
      char* o = p[0];
      const char *in = p[1], *off = p[2];
      if (s[2] == 0) {  // one position for the whole run: a row
        in += *reinterpret_cast<const int64_t*>(off);
        if (s[0] == sizeof(T) && s[1] == sizeof(T)) {
          std::memcpy(o, in, static_cast<size_t>(n) * sizeof(T));
          return;
        }
        for (int64_t i = 0; i < n; i++, o += s[0], in += s[1])
          *reinterpret_cast<T*>(o) = *reinterpret_cast<const T*>(in);
        return;
      }
      for (int64_t i = 0; i < n; i++, o += s[0], in += s[1], off += s[2])
        *reinterpret_cast<T*>(o) = *reinterpret_cast<const T*>(in + *reinterpret_cast<const int64_t*>(off));
    });
  });
  return iter.output();
}

Update update_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Prod:
      return Update::Multiply;
    case ReduceKind::Max:
      return Update::Max;
    case ReduceKind::Min:
      return Update::Min;
    default:
      return Update::Add;
  }
}

void store_identity(void* bytes, ReduceKind kind, DType dtype) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T v = T(0.0f);
    if (kind == ReduceKind::Prod) v = T(1.0f);
    if (kind == ReduceKind::Max || kind == ReduceKind::Min) {
      float sign = kind == ReduceKind::Max ? -1.0f : 1.0f;
      if constexpr (std::is_integral_v<T>)
        v = sign < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
      else if constexpr (!kIsComplex<T>)
        v = T(sign * std::numeric_limits<float>::infinity());
    }
    std::memcpy(bytes, &v, sizeof(T));
  });
}

void divide_by_counts(const Tensor& out, const Tensor& counts) {
  ElementwiseIter iter;
  iter.add_output(out, out.dtype());
  iter.add_input(counts);
  iter.build();
  dispatch(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    cpu::walk(iter, [](char* const* p, const int64_t* s, int64_t n) {
      char *o = p[0], *c = p[1];
      for (int64_t i = 0; i < n; i++, o += s[0], c += s[1]) {
        int64_t by = std::max<int64_t>(1, *reinterpret_cast<const int64_t*>(c));
        T& v = *reinterpret_cast<T*>(o);
        if constexpr (std::is_same_v<T, bool>) {
          v = v && by == 1;
        } else if constexpr (std::is_integral_v<T>) {
          int64_t x = static_cast<int64_t>(v), q = x / by;
          v = static_cast<T>(q - (x % by < 0));
        } else if constexpr (kIsComplex<T>) {
          v /= static_cast<typename T::value_type>(by);
        } else {
          v = T(static_cast<OpMath<T>>(v) / static_cast<OpMath<T>>(by));
        }
      }
    });
  });
}

Tensor element_of(const Scalar& s, DType dtype) {
  check_fits(s, dtype);
  return full({}, s, dtype);
}

}  // namespace undertow::fwd
