// gemm_half.cpp: products of bfloat16 and float16 matrices: widened to float, multiplied, rounded once.
// Built on gemm<float>, and on the bfloat16 instruction if the processor has it (bf16_kernels.h).
#include <algorithm>
#include <utility>

#include "core/base/parallel.h"
#include "core/kernels/cpu/half/half_kernels.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/bf16_kernels.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

struct WideA;
struct WideB;
struct WideC;
struct PairsA;
struct PairsB;

// Elements of B widened at once: four megabytes of float, which the last-level cache holds until they are multiplied.
constexpr int64_t kWideElements = 1 << 20;
constexpr int64_t kConvertGrain = 1 << 15;

struct HalfMatrix {
  const uint16_t* data;
  int64_t rs, cs;
};

// Keeps the matrix's memory order, so that runs are contiguous on both sides. Returns true if `to` is column-major.
bool widen_matrix(HalfKernels::Widen widen, int64_t rows, int64_t cols, HalfMatrix from, float* to) {
  bool by_columns = from.rs == 1 && from.cs != 1;
  if (by_columns) {
    std::swap(rows, cols);
    std::swap(from.rs, from.cs);
  }
  parallel_for(0, rows, std::max<int64_t>(1, kConvertGrain / cols), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) widen(cols, from.data + i * from.rs, from.cs, to + i * cols);
  });
  return by_columns;
}

void run(HalfKernels::Widen widen, HalfKernels::Narrow narrow, int64_t m, int64_t n, int64_t k, float alpha,
         HalfMatrix a, HalfMatrix b, float beta, uint16_t* c, int64_t c_rs, int64_t c_cs) {
  if (m <= 0 || n <= 0) return;
  // B is divided into blocks of columns, so it should be the larger matrix.
  if (m > n) {
    std::swap(m, n);
    std::swap(a, b);
    std::swap(a.rs, a.cs);
    std::swap(b.rs, b.cs);
    std::swap(c_rs, c_cs);
  }
  k = std::max<int64_t>(k, 0);
  float* wide_a = Scratch<WideA>::get<float>(m * k);
  bool a_by_columns = k > 0 && widen_matrix(widen, m, k, a, wide_a);
  int64_t block = std::min(n, std::max<int64_t>(kWideElements / std::max(k, m), 64));
  float* wide_b = Scratch<WideB>::get<float>(k * block);
  float* wide_c = Scratch<WideC>::get<float>(m * block);
  for (int64_t j = 0; j < n; j += block) {
    int64_t cols = std::min(block, n - j);
    uint16_t* out = c + j * c_cs;
    bool b_by_columns = k > 0 && widen_matrix(widen, k, cols, {b.data + j * b.cs, b.rs, b.cs}, wide_b);
    if (beta != 0) widen_matrix(widen, m, cols, {out, c_rs, c_cs}, wide_c);
    bool c_by_columns = c_rs == 1 && c_cs != 1;
    gemm<float>(m, cols, k, alpha, wide_a, a_by_columns ? 1 : k, a_by_columns ? m : 1, wide_b, b_by_columns ? 1 : cols,
                b_by_columns ? k : 1, beta, wide_c, c_by_columns ? 1 : cols, c_by_columns ? m : 1);
    int64_t runs = c_by_columns ? cols : m, length = c_by_columns ? m : cols;
    int64_t run_stride = c_by_columns ? c_cs : c_rs, stride = c_by_columns ? c_rs : c_cs;
    parallel_for(0, runs, std::max<int64_t>(1, kConvertGrain / length), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) narrow(length, wide_c + i * length, out + i * run_stride, stride);
    });
  }
}

// Minimum work for packing pairs to pay off, and for a chunk; enough chunks for a few threads, and the minimum number
// of rows of a chunk.
constexpr int64_t kPairWork = 32 * 32 * 32;
constexpr int64_t kPairChunkWork = 1 << 19;
constexpr int64_t kEnoughChunks = 16;
constexpr int64_t kMinRows = 56;

// C = alpha * sums + beta * C for one tile.
void write_tile(int64_t rows, int64_t cols, float* sums, float alpha, float beta, uint16_t* c, int64_t c_rs,
                int64_t c_cs) {
  const HalfKernels& half = half_kernels();
  alignas(64) float before[kBf16Panel];
  for (int64_t i = 0; i < rows; ++i, sums += kBf16Panel, c += c_rs) {
    if (beta != 0) {
      half.widen_bf16(cols, c, c_cs, before);
      for (int64_t j = 0; j < cols; ++j) sums[j] = alpha * sums[j] + beta * before[j];
    } else if (alpha != 1) {
      for (int64_t j = 0; j < cols; ++j) sums[j] *= alpha;
    }
    half.narrow_bf16(cols, sums, c, c_cs);
  }
}

// Returns true if the processor multiplies pairs and the product is large enough for it. Every chunk packs the panel of
// B it needs: see Note [Bfloat16 Pairs] and Note [Private Panels].
bool run_by_pairs(int64_t m, int64_t n, int64_t k, float alpha, HalfMatrix a, HalfMatrix b, float beta, uint16_t* c,
                  int64_t c_rs, int64_t c_cs) {
  static const Bf16Kernels* const kernels = UNDERTOW_CHOOSE_ISA(bf16_kernels());
  if (!kernels || m * n * k < kPairWork || m < 4 || n < kBf16Panel / 2 || k < 8) return false;
  int64_t pairs = (k + 1) / 2;
  if (a.cs != 1 || k % 2) {
    uint16_t* rows = Scratch<PairsA>::get<uint16_t>(m * 2 * pairs);
    parallel_for(0, m, std::max<int64_t>(1, kConvertGrain / k), [&](int64_t begin, int64_t end) {
      kernels->pack_a(end - begin, k, a.data + begin * a.rs, a.rs, a.cs, rows + begin * 2 * pairs);
    });
    a = {rows, 2 * pairs, 1};
  }
  int64_t panels = (n + kBf16Panel - 1) / kBf16Panel;
  int64_t down = std::max<int64_t>(1, std::min(m / kMinRows, (kEnoughChunks + panels - 1) / panels)),
          height = (m + down - 1) / down;
  int64_t grain = std::max<int64_t>(1, kPairChunkWork / (height * kBf16Panel * k));
  parallel_for(0, panels * down, grain, [&](int64_t begin, int64_t end) {
    uint32_t* packed = Scratch<PairsB>::get<uint32_t>(pairs * kBf16Panel);
    alignas(64) float sums[16 * kBf16Panel];
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      int64_t j = chunk / down * kBf16Panel, cols = std::min(kBf16Panel, n - j), top = chunk % down * height,
              bottom = std::min(m, top + height);
      if (top >= bottom) continue;
      kernels->pack_b(k, cols, b.data + j * b.cs, b.rs, b.cs, packed);
      int64_t tiles = (bottom - top + kernels->tile_rows - 1) / kernels->tile_rows,
              step = (bottom - top + tiles - 1) / tiles;
      for (int64_t i = top; i < bottom; i += step) {
        int64_t rows = std::min(step, bottom - i);
        kernels->tile(rows, pairs, a.data + i * a.rs, a.rs, packed, sums);
        write_tile(rows, cols, sums, alpha, beta, c + i * c_rs + j * c_cs, c_rs, c_cs);
      }
    }
  });
  return true;
}

}  // namespace

void gemm_bf16(int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_rs, int64_t a_cs,
               const uint16_t* b, int64_t b_rs, int64_t b_cs, float beta, uint16_t* c, int64_t c_rs, int64_t c_cs) {
  if (run_by_pairs(m, n, k, alpha, {a, a_rs, a_cs}, {b, b_rs, b_cs}, beta, c, c_rs, c_cs)) return;
  const HalfKernels& half = half_kernels();
  run(half.widen_bf16, half.narrow_bf16, m, n, k, alpha, {a, a_rs, a_cs}, {b, b_rs, b_cs}, beta, c, c_rs, c_cs);
}

void gemm_f16(int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_rs, int64_t a_cs,
              const uint16_t* b, int64_t b_rs, int64_t b_cs, float beta, uint16_t* c, int64_t c_rs, int64_t c_cs) {
  const HalfKernels& half = half_kernels();
  run(half.widen_f16, half.narrow_f16, m, n, k, alpha, {a, a_rs, a_cs}, {b, b_rs, b_cs}, beta, c, c_rs, c_cs);
}

}  // namespace undertow::core::cpu
