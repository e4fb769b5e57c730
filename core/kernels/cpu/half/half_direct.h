// half_direct.h: bfloat16 and float16 loops for memory-bound operators: values stay in registers between widening and
// rounding. For table entries with half = "direct"; all others use half_loops.h.
#pragma once

#include "core/kernels/cpu/half/half_loops.h"
#include "core/kernels/cpu/half/half_vectors.h"
#include "core/kernels/cpu/pointwise/loops.h"

namespace undertow::core::cpu {
namespace UNDERTOW_ISA_NS {

#if defined(__AVX2__)
// The arrays become registers: each is written and read as the same vector.
template <class Op, class Half>
UT_VECTOR_INLINE void direct_run(const Op& op, uint16_t* out, const uint16_t* a) {
  alignas(64) float x[kHalfRun], result[kHalfRun];
  Half::widen(a, x);
  for (int i = 0; i < kHalfRun; i++) result[i] = op(x[i]);
  Half::narrow(result, out);
}
template <class Op, class Half>
UT_VECTOR_INLINE void direct_run(const Op& op, uint16_t* out, const uint16_t* a, const uint16_t* b) {
  alignas(64) float x[kHalfRun], y[kHalfRun], result[kHalfRun];
  Half::widen(a, x);
  Half::widen(b, y);
  for (int i = 0; i < kHalfRun; i++) result[i] = op(x[i], y[i]);
  Half::narrow(result, out);
}

// The last partial run, padded with zeros whose results are discarded.
template <class Op, class Half, class... In>
void direct_rest(const Op& op, int64_t count, uint16_t* out, const In*... in) {
  uint16_t result[kHalfRun], padded[sizeof...(In)][kHalfRun] = {};
  int k = 0;
  (__builtin_memcpy(padded[k++], in, static_cast<size_t>(count) * 2), ...);
  if constexpr (sizeof...(In) == 1)
    direct_run<Op, Half>(op, result, padded[0]);
  else
    direct_run<Op, Half>(op, result, padded[0], padded[1]);
  __builtin_memcpy(out, result, static_cast<size_t>(count) * 2);
}

// A binary operator with its second operand bound.
template <class Op>
struct WithConstant {
  Op op;
  float second;
  auto operator()(float x) const { return op(x, second); }
};

template <class Op, class Half, class... In>
void direct_all(const Op& op, int64_t n, uint16_t* out, const In*... in) {
  int64_t i = 0;
  for (; i + kHalfRun <= n; i += kHalfRun) direct_run<Op, Half>(op, out + i, (in + i)...);
  if (i < n) direct_rest<Op, Half>(op, n - i, out + i, (in + i)...);
}

template <class Op, class Half>
bool direct(int inputs, char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
  if (s[0] != 2 || s[1] != 2) return false;
  auto* out = reinterpret_cast<uint16_t*>(p[0]);
  auto* a = reinterpret_cast<const uint16_t*>(p[1]);
  if constexpr (requires(Op op) { op(0.0f); }) {
    direct_all<Op, Half>(Op(params), n, out, a);
    return inputs == 1;
  } else {
    auto* b = reinterpret_cast<const uint16_t*>(p[2]);
    if (s[2] == 2) {
      direct_all<Op, Half>(Op(params), n, out, a, b);
      return true;
    }
    if (s[2] != 0) return false;
    alignas(64) float constant[kHalfRun];
    uint16_t copies[kHalfRun];
    for (uint16_t& c : copies) c = *b;
    Half::widen(copies, constant);
    direct_all<WithConstant<Op>, Half>({Op(params), constant[0]}, n, out, a);
    return true;
  }
}
#endif

template <class Op, DType half, class... In>
void half_loop(char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
  constexpr int inputs = sizeof...(In);
#if defined(__AVX2__)
  if (direct<Op, std::conditional_t<half == DType::BFloat16, Bf16Vectors, F16Vectors>>(inputs, p, s, n, params)) return;
#endif
  loop_in_float(pick_loop<Op, In...>(), half, inputs, false, p, s, n, params);
}

template <class Op, class... In>
void fill_direct(LoopFn* table) {
  table[static_cast<int>(DType::BFloat16)] = half_loop<Op, DType::BFloat16, In...>;
  table[static_cast<int>(DType::Float16)] = half_loop<Op, DType::Float16, In...>;
}

}  // namespace UNDERTOW_ISA_NS
}  // namespace undertow::core::cpu
