// flash_common.cuh: what attention by tiles shares: products of tiles, which score belongs to which query and key, and
// writing rows. A block has four warps; each one computes `m_tiles` times 16 rows of a tile.
#pragma once
#include "device/tensor_core.cuh"
// After prelude.cuh, which defines int64_t.
#include "attention/attention_params.h"

namespace undertow {

constexpr int kFlashThreads = 128, kFlashWarps = 4;
constexpr float kLog2e = 1.4426950408889634f;

UT_DEVICE float fast_exp2(float x) {
#ifndef UNDERTOW_EMULATED
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

// The element of a warp's sums that c[i] of a fragment is. See Note [Warp Fragments].
UT_DEVICE int fragment_row(int m, int i) { return m * 16 + threadIdx.x % 32 / 4 + i / 2 * 8; }
UT_DEVICE int fragment_column(int n, int i) { return n * 8 + threadIdx.x % 4 * 2 + i % 2; }

template <int m_tiles, int n_tiles>
UT_DEVICE void set_zero(float (&sums)[m_tiles][n_tiles][4]) {
#pragma unroll
  for (int m = 0; m < m_tiles; m++)
#pragma unroll
    for (int n = 0; n < n_tiles; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) sums[m][n][i] = 0;
}

// sums = rows of `left` from `first` on, times the transposed `right`.
template <class T, int width, int m_tiles, int n_tiles, class Left, class Right>
UT_DEVICE void multiply_transposed(float (&sums)[m_tiles][n_tiles][4], const Left& left, int first,
                                   const Right& right) {
  set_zero(sums);
#pragma unroll
  for (int depth = 0; depth < width; depth += 16) {
    uint32_t a[m_tiles][4];
#pragma unroll
    for (int m = 0; m < m_tiles; m++) left.left(a[m], first + m * 16, depth);
#pragma unroll
    for (int n = 0; n < n_tiles; n += 2) {
      uint32_t b[4];
      right.right_of_rows(b, n * 8, depth);
#pragma unroll
      for (int m = 0; m < m_tiles; m++) {
        multiply_add<T>(sums[m][n], a[m], b[0], b[1]);
        multiply_add<T>(sums[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// sums += weights, rounded to T, times `right`.
template <class T, int width, int m_tiles, int n_tiles, class Right>
UT_DEVICE void multiply_onto(float (&sums)[m_tiles][width / 8][4], const float (&weights)[m_tiles][n_tiles][4],
                             const Right& right) {
#pragma unroll
  for (int n = 0; n < n_tiles; n += 2) {
    uint32_t a[m_tiles][4];
#pragma unroll
    for (int m = 0; m < m_tiles; m++) {
      a[m][0] = pack_pair<T>(weights[m][n][0], weights[m][n][1]);
      a[m][1] = pack_pair<T>(weights[m][n][2], weights[m][n][3]);
      a[m][2] = pack_pair<T>(weights[m][n + 1][0], weights[m][n + 1][1]);
      a[m][3] = pack_pair<T>(weights[m][n + 1][2], weights[m][n + 1][3]);
    }
#pragma unroll
    for (int d = 0; d < width / 8; d += 2) {
      uint32_t b[4];
      right.right_of_columns(b, n * 8, d * 8);
#pragma unroll
      for (int m = 0; m < m_tiles; m++) {
        multiply_add<T>(sums[m][d], a[m], b[0], b[1]);
        multiply_add<T>(sums[m][d + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// Writes a warp's rows, times a factor per row, to rows [first, count) of a tensor.
template <class T, int width, int m_tiles, class Factor>
UT_DEVICE void write_rows(T* to, int64_t stride, const float (&sums)[m_tiles][width / 8][4], int first, int count,
                          int columns, Factor&& factor) {
#pragma unroll
  for (int m = 0; m < m_tiles; m++)
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      int row = first + fragment_row(m, i);
      if (row >= count) continue;
      float scale = factor(m, i / 2);
#pragma unroll
      for (int n = 0; n < width / 8; n++) {
        int column = fragment_column(n, i);
        if (column < columns)
          *reinterpret_cast<uint32_t*>(to + row * stride + column) =
              pack_pair<T>(sums[m][n][i] * scale, sums[m][n][i + 1] * scale);
      }
    }
}

// Scores in units of log 2, for exp2: of one head.
struct FlashScores {
  float scale;
  const float* mask;  // null: none
  int64_t mask_row, mask_column;
  int queries, keys;
  bool causal;

  UT_DEVICE FlashScores(const FlashParams& p, const float* masks, bool causal, int64_t batch, int64_t head)
      : scale(p.scale * kLog2e),
        mask(masks ? masks + batch * p.mask.batch + head * p.mask.head : nullptr),
        mask_row(p.mask.row),
        mask_column(p.mask.column),
        queries(p.queries),
        keys(p.keys),
        causal(causal) {}
  // The score of a product; -infinity where the key is not seen.
  template <bool masked>
  UT_DEVICE float of(float product, int query, int key) const {
    if (key >= keys || query >= queries || (causal && key > query)) return -Limits<float>::infinity();
    float score = product * scale;
    if constexpr (masked) score += mask[query * mask_row + key * mask_column] * kLog2e;
    return score;
  }
};

}  // namespace undertow
