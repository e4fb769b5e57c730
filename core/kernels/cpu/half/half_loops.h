// half_loops.h: runs a float loop over operands of a half dtype, block by block.
// Knows element types and strides; not which operator the loop computes.
#pragma once
#include "core/kernels/cpu/half/half_kernels.h"
#include "core/kernels/cpu/pointwise/loops.h"

namespace undertow::core::cpu {

// `loop` computes in float: inputs are widened into blocks, and results are rounded once to `half`; one-byte results
// (bool) are stored unchanged. A separate kernel for every operator would not be faster and took 1.4 MB.
void loop_in_float(LoopFn loop, DType half, int inputs, bool to_bool, char* const* p, const int64_t* strides, int64_t n,
                   const Scalar* params) noexcept;

// Fills the entries of the half dtypes from the existing float loop, which `in_float` keeps.
template <LoopFn& in_float, int inputs, bool to_bool>
void fill_half(LoopFn* table) {
  in_float = table[static_cast<int>(DType::Float32)];
  table[static_cast<int>(DType::Float16)] = [](char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
    loop_in_float(in_float, DType::Float16, inputs, to_bool, p, s, n, params);
  };
  table[static_cast<int>(DType::BFloat16)] = [](char* const* p, const int64_t* s, int64_t n, const Scalar* params) {
    loop_in_float(in_float, DType::BFloat16, inputs, to_bool, p, s, n, params);
  };
}

// The conversions of one half dtype, for float kernels that process a few of its lines at a time.
struct HalfLines {
  HalfKernels::Widen widen = nullptr;
  HalfKernels::Narrow narrow = nullptr;

  HalfLines() = default;  // not a half dtype
  explicit HalfLines(DType half);
  explicit operator bool() const { return widen != nullptr; }
  void to_float(const char* from, int64_t count, float* to) const {
    widen(count, reinterpret_cast<const uint16_t*>(from), 1, to);
  }
  void to_half(const float* from, int64_t count, char* to) const {
    narrow(count, from, reinterpret_cast<uint16_t*>(to), 1);
  }
  // How many lines of n elements to convert at once, so that they stay in the L1 cache.
  static int64_t at_once(int64_t n) { return n < 4096 ? 4096 / n : 1; }
};

}  // namespace undertow::core::cpu
