// copy.cpp: the CPU's CopyKernels: copies between layouts and dtypes, and materialized conj and neg bits.
#include "core/kernels/copy.h"

#include <algorithm>
#include <optional>

#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/copy/strided_copy.h"
#include "core/kernels/cpu/copy/strided_copy_kernels.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/elementwise_walk.h"
#include "core/kernels/cpu/half/half_kernels.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/short_rows.h"
#include "core/tensor/dtype/storage_dtypes.h"

namespace undertow::core::cpu {

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

// Loops for the pairs of types that are often converted in bulk; null for the others.
MoveKernels::Convert fast_convert(DType to, DType from) {
  auto type_of = [](DType t) -> std::optional<ConvertType> {
    switch (t) {
      case DType::Bool:
        return ConvertType::Bool;
      case DType::UInt8:
        return ConvertType::UInt8;
      case DType::Int8:
        return ConvertType::Int8;
      case DType::Int16:
        return ConvertType::Int16;
      case DType::Int32:
        return ConvertType::Int32;
      case DType::Int64:
        return ConvertType::Int64;
      case DType::Float32:
        return ConvertType::Float32;
      case DType::Float64:
        return ConvertType::Float64;
      default:
        return std::nullopt;
    }
  };
  auto t = type_of(to), f = type_of(from);
  return t && f ? move_kernels().convert(*t, *f) : nullptr;
}

// Converts contiguous elements by one vectorized loop; false if the pair has none.
bool convert_at_once(DType to, DType from, char* out, const char* in, int64_t n) {
  const HalfKernels& half = half_kernels();
  if (to == DType::Float32 && is_reduced_float(from)) {
    auto widen = from == DType::BFloat16 ? half.widen_bf16 : half.widen_f16;
    widen(n, reinterpret_cast<const uint16_t*>(in), 1, reinterpret_cast<float*>(out));
    return true;
  }
  if (from == DType::Float32 && is_reduced_float(to)) {
    auto narrow = to == DType::BFloat16 ? half.narrow_bf16 : half.narrow_f16;
    narrow(n, reinterpret_cast<const float*>(in), reinterpret_cast<uint16_t*>(out), 1);
    return true;
  }
  MoveKernels::Convert loop = fast_convert(to, from);
  if (loop) loop(out, in, n);
  return loop != nullptr;
}

// The same, if need be in steps through blocks of a type between the two, which rounds and truncates as one step does.
bool convert_contiguous(DType to, DType from, char* out, const char* in, int64_t n) {
  if (convert_at_once(to, from, out, in, n)) return true;
  const DType middle = is_reduced_float(to) || is_reduced_float(from) ? DType::Float32 : DType::Int32;
  if (middle == to || middle == from || is_complex(to) || is_complex(from)) return false;
  constexpr int64_t kBlock = 1024;
  alignas(64) char block[kBlock * sizeof(float)];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at);
    if (!convert_contiguous(middle, from, block, in + at * itemsize(from), count) ||
        !convert_contiguous(to, middle, out + at * itemsize(to), block, count))
      return false;
  }
  return true;
}

Dims byte_strides(const Tensor& t) {
  Dims out(t.strides());
  for (int64_t& s : out) s *= t.itemsize();
  return out;
}

}  // namespace

ConvertLoop convert_loop_of(DType to, DType from) {
  return dispatch(to, [&](auto to_tag) {
    return dispatch(from, [&](auto from_tag) -> ConvertLoop {
      return &convert_loop<typename decltype(to_tag)::type, typename decltype(from_tag)::type>;
    });
  });
}

void copy(const Tensor& dst, const Tensor& src) {
  if (dst.dtype() == src.dtype()) {
    if (dst.is_contiguous() && src.is_contiguous())
      copy_bytes_parallel(dst.data(), src.data(), src.nbytes());
    else
      move_elements(dst.data(), src.data(), Dims(dst.sizes()), byte_strides(dst), byte_strides(src), dst.itemsize());
    return;
  }
  ElementwiseIter iter;
  iter.add_output(dst, dst.dtype());
  iter.add_input(src);
  iter.build();
  if (UT_UNLIKELY(is_storage(dst.dtype()) || is_storage(src.dtype())))
    return copy_storage(iter, dst.dtype(), src.dtype());
  const DType to = dst.dtype(), from = src.dtype();
  ConvertLoop loop = convert_loop_of(to, from);
  auto run = [&](char* const* p, const int64_t* s, int64_t n) {
    const bool contiguous = s[0] == itemsize(to) && s[1] == itemsize(from);
    if (!contiguous || !convert_contiguous(to, from, p[0], p[1], n)) loop(p, s, n);
  };
  if (has_short_rows(iter)) return walk_short_rows(iter, itemsize(to), itemsize(from), run);
  if (!is_repeated(iter)) return walk(iter, run);
  walk(iter, [&](char* const* p, const int64_t* s, int64_t n) {
    run(p, s, 1);
    repeat_first(p[0], s[0], n, itemsize(to));
  });
}

void conj_neg_in_place(const Tensor& t, bool conj, bool neg) {
  ElementwiseIter iter;
  iter.add_output(t, t.dtype());
  iter.build();
  walk(iter, [&](char* const* p, const int64_t* s, int64_t n) {
    if (t.dtype() == DType::Complex32) {  // two halves, whose top bits are their signs
      uint32_t signs = (neg ? 0x80008000u : 0) ^ (conj ? 0x80000000u : 0);
      for (int64_t i = 0; i < n; i++) *reinterpret_cast<uint32_t*>(p[0] + i * s[0]) ^= signs;
      return;
    }
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

Scalar item(const Tensor& t) { return read_element(t.dtype(), t.data()); }

void convert_checked(const Tensor& dst, const Tensor& src, void (*check)(const Scalar& value, DType dtype)) {
  Scalar value = item(src);
  check(value, dst.dtype());
  fill(dst, value);
}

Tensor contiguous(const Tensor& t) { return contiguous_as(t, t.dtype()); }
Tensor contiguous_as(const Tensor& t, DType dtype) {
  if (t.is_contiguous() && t.dtype() == dtype) return t;
  Tensor out = empty(t.sizes(), dtype, kCpu);
  if (t.numel()) copy(out, t);
  return out;
}

constinit const CopyKernels copy_kernels = {
    .copy = copy,
    .conj_neg_in_place = conj_neg_in_place,
    .fill = fill,
    .zero = zero,
    .convert_checked = convert_checked,
    .item = item,
};

}  // namespace undertow::core::cpu
