// bf16_kernels.h: the contract between products of bfloat16 matrices (gemm_half.cpp) and the instruction that
// multiplies pairs of them, where a processor has it. Works on bits in uint16_t; knows no threads.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::cpu {

// Note [Pairs Of Halves]
// The instruction adds to every float of a vector the two products of a pair of bfloat16 with another pair. So pairs
// along k must lie together, an odd end filled with zero: in A as in any matrix with contiguous rows; in B after
// packing into panels of kBf16Panel columns, row of pairs after row of pairs, the last panel filled with zeros. Numbers
// too small for a normal bfloat16 count as zero.
constexpr int64_t kBf16Panel = 32;

struct Bf16Kernels {
  int64_t tile_rows;
  // A copy of A with contiguous rows of k + k % 2 elements.
  void (*pack_a)(int64_t m, int64_t k, const uint16_t* a, int64_t a_rs, int64_t a_cs, uint16_t* packed);
  // One panel: at most kBf16Panel columns of B.
  void (*pack_b)(int64_t k, int64_t n, const uint16_t* b, int64_t b_rs, int64_t b_cs, uint32_t* packed);
  // sums = A B for m <= tile_rows rows and one panel, kBf16Panel floats a row.
  void (*tile)(int64_t m, int64_t pairs, const uint16_t* a, int64_t a_rs, const uint32_t* b, float* sums);
};

// Null where the processor, or the instruction set chosen, has no such instruction.
UNDERTOW_FOR_EACH_ISA(const Bf16Kernels* bf16_kernels();)

}  // namespace undertow::cpu
