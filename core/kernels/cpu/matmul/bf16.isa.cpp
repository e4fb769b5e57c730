// bf16.isa.cpp: see bf16_kernels.h and Note [One Namespace Per Instruction Set] in simd.h. The bfloat16 dot product is
// not in the instruction set this file is compiled for; functions that use it are marked with a target attribute, and
// called only if the processor has it.
#include "core/kernels/cpu/matmul/bf16_kernels.h"

#include "core/kernels/cpu/matmul/gemm_pack.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

#if defined(__AVX512BW__)

constexpr int kMaxRows = 14;

inline uint32_t pair(uint32_t low, uint32_t high) { return low | high << 16; }

void pack_a(int64_t m, int64_t k, const uint16_t* a, int64_t a_rs, int64_t a_cs, uint16_t* packed) {
  int64_t width = k + k % 2;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t p = 0; p < k; ++p) packed[i * width + p] = a[i * a_rs + p * a_cs];
    if (k % 2) packed[(i + 1) * width - 1] = 0;
  }
}

void pack_b(int64_t k, int64_t n, const uint16_t* b, int64_t b_rs, int64_t b_cs, uint32_t* packed) {
  int64_t whole = k / 2, p = 0;
  if (b_cs == 1 && n == kBf16Panel) {
    alignas(64) static constexpr uint16_t kDealt[64] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                                        8,  40, 9,  41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47,
                                                        16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                                                        24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63};
    const __m512i low = _mm512_load_si512(kDealt), high = _mm512_load_si512(kDealt + 32);
    for (; p < whole; ++p) {
      __m512i first = _mm512_loadu_si512(b + 2 * p * b_rs), second = _mm512_loadu_si512(b + (2 * p + 1) * b_rs);
      _mm512_storeu_si512(packed + p * kBf16Panel, _mm512_permutex2var_epi16(first, low, second));
      _mm512_storeu_si512(packed + p * kBf16Panel + 16, _mm512_permutex2var_epi16(first, high, second));
    }
  } else if (b_rs == 1 && b_cs % 2 == 0 && reinterpret_cast<uintptr_t>(b) % 4 == 0 &&
             whole * n > 4 * kLanes<uint32_t>) {
    // Pairs are adjacent: transpose them as 32-bit elements.
    pack_panel<uint32_t>(whole, n, kBf16Panel, reinterpret_cast<const uint32_t*>(b), b_cs / 2, 1, packed);
    p = whole;
  }
  for (; p < (k + 1) / 2; ++p) {
    const uint16_t* row = b + 2 * p * b_rs;
    for (int64_t j = 0; j < kBf16Panel; ++j) {
      uint32_t high = 2 * p + 1 < k && j < n ? row[b_rs + j * b_cs] : 0;
      packed[p * kBf16Panel + j] = j < n ? pair(row[j * b_cs], high) : 0;
    }
  }
}

template <int kRows>
__attribute__((target("avx512bf16"))) void tile(int64_t pairs, const uint16_t* a, int64_t a_rs, const uint32_t* b,
                                                float* sums) {
  __m512 acc[kRows][2];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) acc[i][0] = acc[i][1] = _mm512_setzero_ps();
  for (int64_t p = 0; p < pairs; ++p, b += kBf16Panel) {
    __m512bh left = (__m512bh)_mm512_loadu_si512(b), right = (__m512bh)_mm512_loadu_si512(b + 16);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      int both;
      __builtin_memcpy(&both, a + i * a_rs + 2 * p, 4);
      __m512bh x = (__m512bh)_mm512_set1_epi32(both);
      acc[i][0] = _mm512_dpbf16_ps(acc[i][0], x, left);
      acc[i][1] = _mm512_dpbf16_ps(acc[i][1], x, right);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    _mm512_storeu_ps(sums + i * kBf16Panel, acc[i][0]);
    _mm512_storeu_ps(sums + i * kBf16Panel + 16, acc[i][1]);
  }
}

using TileFn = void (*)(int64_t, const uint16_t*, int64_t, const uint32_t*, float*);
constexpr TileFn kTiles[kMaxRows] = {tile<1>, tile<2>, tile<3>,  tile<4>,  tile<5>,  tile<6>,  tile<7>,
                                     tile<8>, tile<9>, tile<10>, tile<11>, tile<12>, tile<13>, tile<14>};

void any_tile(int64_t m, int64_t pairs, const uint16_t* a, int64_t a_rs, const uint32_t* b, float* sums) {
  kTiles[m - 1](pairs, a, a_rs, b, sums);
}

constexpr Bf16Kernels kKernels = {kMaxRows, pack_a, pack_b, any_tile};

const Bf16Kernels* kernels() { return __builtin_cpu_supports("avx512bf16") ? &kKernels : nullptr; }
#else
const Bf16Kernels* kernels() { return nullptr; }
#endif

}  // namespace

namespace UNDERTOW_ISA_NS {
const Bf16Kernels* bf16_kernels() { return kernels(); }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
