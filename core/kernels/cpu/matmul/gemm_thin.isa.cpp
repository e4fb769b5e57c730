// gemm_thin.isa.cpp: products with few rows, which read B once and are memory-bound: sweeps over rows, and dot
// products. Compiled once per instruction set with the flags listed in gemm.isa.cpp. See Note [One Namespace Per
// Instruction Set]. Knows neither threads nor allocation.
#include "core/kernels/cpu/matmul/gemm_kernels.h"
#include "core/kernels/cpu/matmul/gemm_tile.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

// --- Vectors

// Adds the product of kLeft rows of A, kDepth columns of each, with kDepth rows of B to kLeft rows of sums.
template <class T, int kLeft, int kDepth>
void add_rows(int64_t n, const T* a, int64_t a_rs, int64_t a_cs, const T* b, int64_t b_rs, T* sums, int64_t sums_rs) {
  constexpr int64_t kL = kLanes<T>;
  Vec<T> scale[kLeft][kDepth];
  for (int i = 0; i < kLeft; ++i) {
    for (int p = 0; p < kDepth; ++p) scale[i][p] = broadcast(a[i * a_rs + p * a_cs]);
  }
  auto add = [&](int64_t j, auto fetch) __attribute__((always_inline)) {
    Vec<T> rows[kDepth];
#pragma GCC unroll 8
    for (int p = 0; p < kDepth; ++p) rows[p] = fetch(b + p * b_rs + j);
#pragma GCC unroll 4
    for (int i = 0; i < kLeft; ++i) {
      Vec<T> sum = load(sums + i * sums_rs + j);
#pragma GCC unroll 8
      for (int p = 0; p < kDepth; ++p) sum += scale[i][p] * rows[p];
      store(sums + i * sums_rs + j, sum);
    }
  };
  int64_t j = 0;
  for (; j + kL <= n; j += kL) add(j, [](const T* at) { return load(at); });
  if (j == n) return;
  Partial<T> rest(n - j);
  add(j, [&](const T* at) { return rest.load(at); });
}

// Adds the product of kDepth columns of A and rows of B, from p on, to `sums`.
template <class T, int kDepth>
void add_depth(const Product<T>& x, int64_t p, int64_t j, int64_t n, T* sums, int64_t sums_rs) {
  const T* a = x.a + p * x.a_cs;
  const T* b = x.b + p * x.b_rs + j;
  int64_t i = 0;
  for (; i + 4 <= x.m; i += 4) {
    add_rows<T, 4, kDepth>(n, a + i * x.a_rs, x.a_rs, x.a_cs, b, x.b_rs, sums + i * sums_rs, sums_rs);
  }
  for (; i + 2 <= x.m; i += 2) {
    add_rows<T, 2, kDepth>(n, a + i * x.a_rs, x.a_rs, x.a_cs, b, x.b_rs, sums + i * sums_rs, sums_rs);
  }
  for (; i < x.m; ++i) {
    add_rows<T, 1, kDepth>(n, a + i * x.a_rs, x.a_rs, x.a_cs, b, x.b_rs, sums + i * sums_rs, sums_rs);
  }
}

template <class T>
void rows_times_matrix(const Product<T>& x) {
  // A block of the sums stays in the L1 cache while the rows of B are streamed.
  constexpr int64_t kSums = 16384 / sizeof(T);
  alignas(64) T sums[kSums];
  int64_t block = kSums / (x.m <= 2 ? 2 : x.m <= 4 ? 4 : kThinRows);
  for (int64_t j = 0; j < x.n; j += block) {
    int64_t n = min64(block, x.n - j), p = 0;
    for (int64_t i = 0; i < x.m * block; i += kLanes<T>) store(sums + i, Vec<T>{});
    if (x.m == 1) {
      for (; p + 8 <= x.k; p += 8)
        add_rows<T, 1, 8>(n, x.a + p * x.a_cs, 0, x.a_cs, x.b + p * x.b_rs + j, x.b_rs, sums, 0);
    }
    for (; p + 4 <= x.k; p += 4) add_depth<T, 4>(x, p, j, n, sums, block);
    for (; p < x.k; ++p) add_depth<T, 1>(x, p, j, n, sums, block);
    Tile<T> t{x.k, n, nullptr, 0, 0, nullptr, 0, x.alpha, x.beta, x.c + j * x.c_cs, x.c_rs, x.c_cs};
    write_from_memory(t, x.m, sums, block);
  }
}

template <class T, int kRows, int kCols>
void dot_tile(const Product<T>& x, int64_t i, int64_t j) {
  constexpr int64_t kL = kLanes<T>;
  const T* a = x.a + i * x.a_rs;
  const T* b = x.b + j * x.b_cs;
  Vec<T> acc[kRows][kCols] = {};
  auto add = [&](auto fetch) __attribute__((always_inline)) {
    Vec<T> left[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) left[r] = fetch(a + r * x.a_rs);
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) {
      Vec<T> right = fetch(b + c * x.b_cs);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) acc[r][c] += left[r] * right;
    }
    a += kL;
    b += kL;
  };
  int64_t p = 0;
  for (; p + kL <= x.k; p += kL) add([](const T* at) { return load(at); });
  if (p < x.k) {
    Partial<T> rest(x.k - p);
    add([&](const T* at) { return rest.load(at); });
  }
  T sums[kRows * kCols + kL];  // write_from_memory reads whole vectors
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kCols; ++c) sums[r * kCols + c] = sum_of_lanes<T>(acc[r][c]);
  }
  for (int i = 0; i < kL; ++i) sums[kRows * kCols + i] = T{};
  Tile<T> t{x.k, kCols, nullptr, 0, 0, nullptr, 0, x.alpha, x.beta, x.c + i * x.c_rs + j * x.c_cs, x.c_rs, x.c_cs};
  write_from_memory(t, kRows, sums, kCols);
}

template <class T>
void dots(const Product<T>& x) {
  int64_t j = 0;
  for (; j + 4 <= x.n; j += 4) {
    int64_t i = 0;
    for (; i + 4 <= x.m; i += 4) dot_tile<T, 4, 4>(x, i, j);
    for (; i < x.m; ++i) dot_tile<T, 1, 4>(x, i, j);
  }
  for (; j < x.n; ++j) {
    for (int64_t i = 0; i < x.m; ++i) dot_tile<T, 1, 1>(x, i, j);
  }
}

template <class T>
constexpr ThinKernels<T> kKernels = {.rows_times_matrix = rows_times_matrix<T>, .dots = dots<T>};

}  // namespace

namespace UNDERTOW_ISA_NS {
template <class T>
const ThinKernels<T>& thin_kernels() {
  return kKernels<T>;
}
template const ThinKernels<float>& thin_kernels<float>();
template const ThinKernels<double>& thin_kernels<double>();
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
