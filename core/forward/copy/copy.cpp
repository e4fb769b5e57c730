// copy.cpp: see copy.h.
#include "core/forward/copy/copy.h"

#include "core/forward/pointwise/elementwise_iter.h"
#include "core/kernels/cpu/copy/strided_copy.h"
#include "core/kernels/cpu/copy/strided_copy_kernels.h"
#include "core/kernels/cpu/half/half_kernels.h"
#include "core/kernels/cpu/isa.h"
#include "core/tensor/layout.h"

namespace undertow::cpu {
namespace {
MoveKernels::Convert convert_run_of(ConvertType to, ConvertType from) {
  static const MoveKernels& chosen = UNDERTOW_CHOOSE_ISA(move_kernels());
  return chosen.convert(to, from);
}
const HalfKernels& half_run_kernels() {
  static const HalfKernels& chosen = UNDERTOW_CHOOSE_ISA(half_kernels());
  return chosen;
}
}  // namespace
}  // namespace undertow::cpu

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
  for (int64_t i = 0; i < n; i++, out += s[0], in += s[1])
    *reinterpret_cast<To*>(out) = convert<To>(*reinterpret_cast<const From*>(in));
}

// Loops for the pairs of types that programs convert in bulk; null for the others.
cpu::MoveKernels::Convert fast_convert(DType to, DType from) {
  auto type_of = [](DType t) -> std::optional<cpu::ConvertType> {
    switch (t) {
      case DType::Bool:
        return cpu::ConvertType::Bool;
      case DType::UInt8:
        return cpu::ConvertType::UInt8;
      case DType::Int32:
        return cpu::ConvertType::Int32;
      case DType::Int64:
        return cpu::ConvertType::Int64;
      case DType::Float32:
        return cpu::ConvertType::Float32;
      case DType::Float64:
        return cpu::ConvertType::Float64;
      default:
        return std::nullopt;
    }
  };
  auto t = type_of(to), f = type_of(from);
  return t && f ? cpu::convert_run_of(*t, *f) : nullptr;
}

// float to and from a half type, which have loops of their own.
bool convert_halves(DType to, DType from, char* const* p, int64_t n) {
  const cpu::HalfKernels& half = cpu::half_run_kernels();
  if (to == DType::Float32) {
    auto widen = from == DType::BFloat16 ? half.widen_bf16 : half.widen_f16;
    widen(n, reinterpret_cast<const uint16_t*>(p[1]), 1, reinterpret_cast<float*>(p[0]));
    return true;
  }
  if (from != DType::Float32) return false;
  auto narrow = to == DType::BFloat16 ? half.narrow_bf16 : half.narrow_f16;
  narrow(n, reinterpret_cast<const float*>(p[1]), reinterpret_cast<uint16_t*>(p[0]), 1);
  return true;
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

Dims byte_strides(const Tensor& t) {
  Dims out(t.strides());
  for (int64_t& s : out) s *= t.itemsize();
  return out;
}

void copy_raw(const Tensor& dst, const Tensor& source) {
  Tensor src = broadcast_to(source, dst.sizes());
  if (dst.dtype() == src.dtype()) {
    check_no_internal_overlap(dst);
    cpu::move_elements(dst.data(), src.data(), Dims(dst.sizes()), byte_strides(dst), byte_strides(src), dst.itemsize());
    return;
  }
  ElementwiseIter iter;
  iter.add_output(dst, dst.dtype());
  iter.add_input(src);
  iter.build();
  cpu::MoveKernels::Convert fast = fast_convert(dst.dtype(), src.dtype());
  bool halves = is_reduced_float(dst.dtype()) != is_reduced_float(src.dtype());
  int64_t to_width = dst.itemsize(), from_width = src.itemsize();
  auto loop = dispatch(dst.dtype(), [&](auto to) {
    return dispatch(src.dtype(), [&](auto from) {
      return &convert_loop<typename decltype(to)::type, typename decltype(from)::type>;
    });
  });
  iter.for_each([&](char* const* p, const int64_t* s, int64_t n) {
    if (s[0] == to_width && s[1] == from_width) {
      if (fast) return fast(p[0], p[1], n);
      if (halves && convert_halves(dst.dtype(), src.dtype(), p, n)) return;
    }
    loop(p, s, n);
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
  if (src.is_contiguous())
    cpu::copy_bytes_parallel(out.data(), src.data(), src.nbytes());
  else
    copy_raw(out, src);
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
