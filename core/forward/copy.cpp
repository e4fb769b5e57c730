// copy.cpp: see copy.h.
#include "core/forward/copy.h"

#include <cstring>

#include "core/forward/elementwise_iter.h"
#include "core/tensor/layout.h"

namespace undertow::fwd {

namespace {

template <class To, class From>
void convert_loop(char* const* p, const int64_t* s, int64_t n) {
  if (s[0] == sizeof(To) && s[1] == sizeof(From)) {
    auto* out = reinterpret_cast<To*>(p[0]);
    auto* in = reinterpret_cast<const From*>(p[1]);
    for (int64_t i = 0; i < n; i++) out[i] = convert<To>(in[i]);
    return;
  }
  char *out = p[0], *in = p[1];
  for (int64_t i = 0; i < n; i++, out += s[0], in += s[1]) *reinterpret_cast<To*>(out) = convert<To>(*reinterpret_cast<const From*>(in));
}

template <class T>
void move_loop(char* const* p, const int64_t* s, int64_t n) {
  if (s[0] == sizeof(T) && s[1] == sizeof(T)) {
    std::memcpy(p[0], p[1], static_cast<size_t>(n) * sizeof(T));
    return;
  }
  char *out = p[0], *in = p[1];
  if (s[1] == 0) {
    T v;
    std::memcpy(&v, in, sizeof(T));
    if (s[0] == sizeof(T)) {
      auto* o = reinterpret_cast<T*>(out);
      for (int64_t i = 0; i < n; i++) o[i] = v;
      return;
    }
  }
  for (int64_t i = 0; i < n; i++, out += s[0], in += s[1]) *reinterpret_cast<T*>(out) = *reinterpret_cast<const T*>(in);
}

void conj_neg_in_place(const Tensor& t, bool conj, bool neg) {
  ElementwiseIter iter;
  iter.add_output(t, t.dtype());
  iter.build();
  iter.for_each([&](char* const* p, const int64_t* s, int64_t n) {
    dispatch(t.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      char* at = p[0];
      for (int64_t i = 0; i < n; i++, at += s[0]) {
        T& v = *reinterpret_cast<T*>(at);
        if constexpr (kIsComplex<T>) {
          if (conj) v = std::conj(v);
          if (neg) v = -v;
        } else if constexpr (!std::is_same_v<T, bool>) {
          if (neg) v = T(-OpMath<T>(v));
        }
      }
    });
  });
}

// src repeated to `sizes` without memory.
Tensor broadcast_to(const Tensor& src, IntSpan sizes) {
  if (same(src.sizes(), sizes)) return src;
  Dims strides(sizes.size(), 0);
  size_t lead = sizes.size() - src.sizes().size();
  for (size_t d = 0; d < src.sizes().size(); d++) strides[lead + d] = src.sizes()[d] == 1 ? 0 : src.strides()[d];
  return undertow::alias(src, sizes, strides, src.storage_offset(), src.dtype());
}

void copy_raw(const Tensor& dst, const Tensor& source) {
  Tensor src = broadcast_to(source, dst.sizes());
  ElementwiseIter iter;
  iter.add_output(dst, dst.dtype());
  iter.add_input(src);
  iter.build();
  if (dst.dtype() == src.dtype()) {
    dispatch_width(dst.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      iter.for_each([](char* const* p, const int64_t* s, int64_t n) { move_loop<T>(p, s, n); });
    });
    return;
  }
  dispatch(dst.dtype(), [&](auto to) {
    dispatch(src.dtype(), [&](auto from) {
      iter.for_each([](char* const* p, const int64_t* s, int64_t n) {
        convert_loop<typename decltype(to)::type, typename decltype(from)::type>(p, s, n);
      });
    });
  });
}

}  // namespace

void copy_into(const Tensor& dst, const Tensor& src) {
  if (UT_UNLIKELY(!is_expandable_to(src.sizes(), dst.sizes()))) {
    Dims shape = broadcast_sizes(dst.sizes(), src.sizes());
    UT_FAIL("output with shape ", ShapeText{dst.sizes()}, " doesn't match the broadcast shape ", ShapeText{shape});
  }
  if (dst.numel() == 0 || dst.is_same(src)) return;
  check_no_partial_overlap(dst, src);
  Tensor from = partial_overlap(dst, src) ? clone_preserve(src) : src;
  // Bits on one side only: copy what memory holds, then fix the destination's memory.
  bool conj = dst.is_conj() != from.is_conj() && dst.is_complex(), neg = dst.is_neg() != from.is_neg();
  if ((conj || neg) && from.dtype() != dst.dtype()) {
    from = materialize_bits(from);
    conj = dst.is_conj() && dst.is_complex();
    neg = dst.is_neg();
  }
  copy_raw(dst, from);
  if (conj || neg) conj_neg_in_place(dst, conj, neg);
}

Tensor to_dtype(const Tensor& src, DType dtype) {
  if (src.dtype() == dtype) return src;
  Tensor in = src.impl()->has(kConj | kNeg) ? materialize_bits(src) : src;
  ElementwiseIter iter;
  iter.add_output({}, dtype);
  iter.add_input(in);
  iter.build();
  copy_raw(iter.output(), in);
  return iter.output();
}

Tensor contiguous(const Tensor& src) {
  return src.is_contiguous() && !src.impl()->has(kConj | kNeg) ? src : contiguous_copy(src);
}
Tensor contiguous_copy(const Tensor& src) {
  Tensor out = undertow::empty(src.sizes(), src.dtype());
  copy_into(out, src);
  return out;
}

Tensor clone_preserve(const Tensor& src) {
  Tensor out = empty_in_format(src, src.dtype(), MemoryFormat::Preserve);
  if (src.numel() == 0) return out;
  if (src.is_contiguous() && src.numel() < 32768) std::memcpy(out.data(), src.data(), static_cast<size_t>(src.nbytes()));
  else copy_raw(out, src);
  out.impl()->set(src.impl()->flags & (kConj | kNeg));
  return out;
}

Tensor materialize_bits(const Tensor& src) {
  if (!src.impl()->has(kConj | kNeg)) return src;
  Tensor out = clone_preserve(src);
  bool conj = src.is_conj(), neg = src.is_neg();
  out.impl()->set(kConj | kNeg, false);
  conj_neg_in_place(out, conj, neg);
  return out;
}

}  // namespace undertow::fwd
