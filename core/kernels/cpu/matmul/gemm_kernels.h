// gemm_kernels.h: the contract between the product's driver (gemm.cpp) and its kernels, compiled once per
// instruction set. Declares the table of kernels and what each expects; knows neither threads nor how the
// driver chooses.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// C = alpha * A B + beta * C, where C is m by n, A is m by k, B is k by n, each with a row and a column stride in
// elements. If beta == 0, C is only written, never read.
template <class T>
struct Product {
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t a_rs, a_cs;
  const T* b;
  int64_t b_rs, b_cs;
  T beta;
  T* c;
  int64_t c_rs, c_cs;
  // The initial value of C, if not null: for the drivers only, which write it to C before a kernel reads C.
  const T* start = nullptr;
  int64_t start_rs = 0, start_cs = 0;

  // The same product written as C^T = B^T A^T.
  Product transposed() const {
    return {n, m, k, alpha, b, b_cs, b_rs, a, a_cs, a_rs, beta, c, c_cs, c_rs, start, start_cs, start_rs};
  }
};

constexpr int64_t kDirectDepth = 256;
constexpr int64_t kThinRows = 8;

// Note [Packed Panels]
// Packed A is divided into panels of `tile_rows` rows (the last may have fewer, and is packed that much narrower): a
// panel holds its column 0, then its column 1, and so on, so the panel of row i begins at i * k. Packed B is divided
// into panels of `panel_cols` columns, row after row, so the panel of column j begins at j * k; the last panel is
// padded with zeros to panel_cols, or to `lanes` if it has no more than that. A register tile is the product of one A
// panel with one B panel.
template <class T>
struct GemmKernels {
  int64_t max_tile_rows;
  int64_t lanes;       // elements in one vector
  int64_t panel_cols;  // columns of a register tile

  void (*pack_a)(int64_t m, int64_t k, const T* a, int64_t a_rs, int64_t a_cs, int64_t tile_rows, T* packed);
  void (*pack_b)(int64_t k, int64_t n, const T* b, int64_t b_rs, int64_t b_cs, T* packed);
  // a and b are packed, their strides unused. See Note [Packed Panels].
  void (*packed)(const Product<T>& product, int64_t tile_rows);

  // Null for integers. Reads A in place, and B too if b_cs == 1; else needs k <= kDirectDepth. For B that stays in the
  // L1 and L2 caches.
  void (*direct)(const Product<T>& product);
  // Null for integers. b is packed and its strides unused, unless b_cs == 1: then B is read in place. A is read in
  // place too, unless `copy` is not null: then a few tiles' rows at a time are copied there, which needs kCopyElements.
  // No size may be zero.
  void (*panels)(const Product<T>& product, T* copy);
};
// Enough for the rows of two register tiles, kPanelDepth deep.
constexpr int64_t kPanelDepth = 512;
constexpr int64_t kCopyElements = 2 * 16 * (kPanelDepth + 16);

// Memory-bound products that read B once; float and double only.
template <class T>
struct ThinKernels {
  // Needs m <= kThinRows and b_cs == 1. Sweeps B row by row.
  void (*rows_times_matrix)(const Product<T>& product);
  // Needs a_cs == 1 and b_rs == 1: every element of C is the dot product of two contiguous runs.
  void (*dots)(const Product<T>& product);
};

// T is float, double, or uint8_t to uint64_t (also used for signed integers: the low bits of a product are the same).
UNDERTOW_FOR_EACH_ISA(template <class T> const GemmKernels<T>& gemm_kernels();
                      template <class T> const ThinKernels<T>& thin_kernels();)

template <class T>
const GemmKernels<T>& gemm_kernels() {
  static const GemmKernels<T>& chosen = UNDERTOW_CHOOSE_ISA(gemm_kernels<T>());
  return chosen;
}
template <class T>
const ThinKernels<T>& thin_kernels() {
  static const ThinKernels<T>& chosen = UNDERTOW_CHOOSE_ISA(thin_kernels<T>());
  return chosen;
}

}  // namespace undertow::core::cpu
