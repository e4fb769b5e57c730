// bf16_kernels.h: the contract between products of bfloat16 matrices (gemm_half.cpp) and the instruction that
// multiplies pairs of them, where a processor has it. Works on bits in uint16_t; knows no threads.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// Note [Bfloat16 Pairs]
// The instruction multiplies a pair of bfloat16 with another pair and adds both products to a float, in every lane. So
// pairs along k must be adjacent, with an odd end padded with zero: in A this holds for any matrix with contiguous
// rows; B is packed into panels of kBf16Panel columns, one row of pairs after the other, and the last panel is padded
// with zeros. Subnormal bfloat16 values count as zero.
constexpr int64_t kBf16Panel = 32;

struct Bf16Kernels {
  int64_t tile_rows;
  // A copy of A with contiguous rows of k + k % 2 elements.
  void (*pack_a)(int64_t m, int64_t k, const uint16_t* a, int64_t a_rs, int64_t a_cs, uint16_t* packed);
  // One panel: at most kBf16Panel columns of B.
  void (*pack_b)(int64_t k, int64_t n, const uint16_t* b, int64_t b_rs, int64_t b_cs, uint32_t* packed);
  // sums = A B for m <= tile_rows rows and one panel, kBf16Panel floats per row.
  void (*tile)(int64_t m, int64_t pairs, const uint16_t* a, int64_t a_rs, const uint32_t* b, float* sums);
};

// Null if the processor, or the selected instruction set, has no such instruction.
UNDERTOW_FOR_EACH_ISA(const Bf16Kernels* bf16_kernels();)

}  // namespace undertow::core::cpu
