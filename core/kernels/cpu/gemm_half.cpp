// gemm_half.cpp: products of bfloat16 and float16 matrices: widened to float, multiplied there, rounded once.
// Built on gemm<float>; knows no kernel of the product itself.
#include <algorithm>
#include <utility>

#include "core/base/parallel.h"
#include "core/kernels/cpu/gemm.h"
#include "core/kernels/cpu/half_kernels.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::cpu {
namespace {

struct WideA;
struct WideB;
struct WideC;

// Elements of B widened at once: four megabytes of float, which the last cache holds until they are
// multiplied.
constexpr int64_t kWideElements = 1 << 20;
constexpr int64_t kConvertGrain = 1 << 15;

struct HalfMatrix {
  const uint16_t* data;
  int64_t rs, cs;
};

const HalfKernels& half_kernels() {
  static const HalfKernels& chosen = UNDERTOW_CHOOSE_ISA(half_kernels());
  return chosen;
}

// Keeps the matrix's order in memory, so that runs are contiguous on both sides: true if `to` is by columns.
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
  // Blocks of columns are what B is cut into, so B had better be the larger matrix.
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
    gemm<float>(m, cols, k, alpha, wide_a, a_by_columns ? 1 : k, a_by_columns ? m : 1, wide_b,
                b_by_columns ? 1 : cols, b_by_columns ? k : 1, beta, wide_c, c_by_columns ? 1 : cols,
                c_by_columns ? m : 1);
    int64_t runs = c_by_columns ? cols : m, length = c_by_columns ? m : cols;
    int64_t run_stride = c_by_columns ? c_cs : c_rs, stride = c_by_columns ? c_rs : c_cs;
    parallel_for(0, runs, std::max<int64_t>(1, kConvertGrain / length), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) narrow(length, wide_c + i * length, out + i * run_stride, stride);
    });
  }
}

}  // namespace

void gemm_bf16(int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_rs, int64_t a_cs,
               const uint16_t* b, int64_t b_rs, int64_t b_cs, float beta, uint16_t* c, int64_t c_rs,
               int64_t c_cs) {
  const HalfKernels& half = half_kernels();
  run(half.widen_bf16, half.narrow_bf16, m, n, k, alpha, {a, a_rs, a_cs}, {b, b_rs, b_cs}, beta, c, c_rs,
      c_cs);
}

void gemm_f16(int64_t m, int64_t n, int64_t k, float alpha, const uint16_t* a, int64_t a_rs, int64_t a_cs,
              const uint16_t* b, int64_t b_rs, int64_t b_cs, float beta, uint16_t* c, int64_t c_rs,
              int64_t c_cs) {
  const HalfKernels& half = half_kernels();
  run(half.widen_f16, half.narrow_f16, m, n, k, alpha, {a, a_rs, a_cs}, {b, b_rs, b_cs}, beta, c, c_rs, c_cs);
}

}  // namespace undertow::cpu
