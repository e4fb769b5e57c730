// flash_forward.cuh: attention by tiles of scores that stay in registers, for half dtypes.
#pragma once
#include "attention/flash_common.cuh"

// A block computes 128 queries (m_tiles is 2) of one head, over tiles of `keys_at_once` keys. `width`: that of a row,
// rounded up.
template <class T, int width, int m_tiles, int keys_at_once, bool masked>
__global__ void __launch_bounds__(kFlashThreads)
    flash_forward(T* out, float* lse, const T* query, const T* key, const T* value, const float* masks,
                  FlashParams p, int matrices, bool causal) {
  constexpr int kRows = kFlashWarps * m_tiles * 16, kTiles = keys_at_once / 8;
  using QueryTile = SharedTile<T, kRows, width>;
  using KeyTile = SharedTile<T, keys_at_once, width>;
  UT_DYNAMIC_SHARED(T, shared);
  QueryTile queries{shared};
  // Of two tiles, one is computed with while the other one is filled.
  auto keys = [&](int step) { return KeyTile{shared + QueryTile::kElements + step % 2 * KeyTile::kElements}; };
  auto values = [&](int step) { return KeyTile{keys(step).data + 2 * KeyTile::kElements}; };

  // Late tiles of a causal matrix have the most work: they start first.
  int tiles = (p.queries + kRows - 1) / kRows, order = blockIdx.x / matrices, matrix = blockIdx.x % matrices;
  int first = (causal ? tiles - 1 - order : order) * kRows, batch = matrix / p.heads, head = matrix % p.heads;
  int warp_row = threadIdx.x / 32 * m_tiles * 16;
  query += batch * p.query.batch + head * p.query.head + first * p.query.row;
  key += batch * p.key.batch + head / p.group * p.key.head;
  value += batch * p.value.batch + head / p.group * p.value.head;
  FlashScores rule(p, masks, causal, batch, head);

  int end = causal ? least_of(p.keys, first + kRows) : p.keys;
  int steps = (end + keys_at_once - 1) / keys_at_once;
  auto start_copy = [&](int step) {
    int at = step * keys_at_once;
    keys(step).copy_from(key + at * p.key.row, p.key.row, p.keys - at, p.width, threadIdx.x, kFlashThreads);
    values(step).copy_from(value + at * p.value.row, p.value.row, p.keys - at, p.width, threadIdx.x,
                               kFlashThreads);
    end_copy_group();
  };
  queries.copy_from(query, p.query.row, p.queries - first, p.width, threadIdx.x, kFlashThreads);
  if (steps) start_copy(0);

  float sums[m_tiles][width / 8][4], largest[m_tiles][2], total[m_tiles][2];
  set_zero(sums);
#pragma unroll
  for (int m = 0; m < m_tiles; m++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      largest[m][h] = -Limits<float>::infinity();
      total[m][h] = 0;
    }
  for (int step = 0; step < steps; step++) {
    if (step + 1 < steps) {
      start_copy(step + 1);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    float scores[m_tiles][kTiles][4];
    multiply_transposed<T, width>(scores, queries, warp_row, keys(step));
    int first_key = step * keys_at_once, first_query = first + warp_row;
    bool whole = !masked && first_key + keys_at_once <= p.keys && first_query + m_tiles * 16 <= p.queries &&
                 (!causal || first_key + keys_at_once - 1 <= first_query);
#pragma unroll
    for (int m = 0; m < m_tiles; m++) {
#pragma unroll
      for (int n = 0; n < kTiles; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          scores[m][n][i] = whole ? scores[m][n][i] * rule.scale
                                  : rule.of<masked>(scores[m][n][i], first_query + fragment_row(m, i),
                                                    first_key + fragment_column(n, i));
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float top = largest[m][h];
#pragma unroll
        for (int n = 0; n < kTiles; n++) top = fmaxf(top, fmaxf(scores[m][n][2 * h], scores[m][n][2 * h + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        // Rows that have seen no key yet have no maximum, so any number works.
        float base = top == -Limits<float>::infinity() ? 0.0f : top, shrink = fast_exp2(largest[m][h] - base), add = 0;
        largest[m][h] = top;
#pragma unroll
        for (int n = 0; n < kTiles; n++)
#pragma unroll
          for (int i = 2 * h; i < 2 * h + 2; i++) {
            scores[m][n][i] = fast_exp2(scores[m][n][i] - base);
            add += scores[m][n][i];
          }
        total[m][h] = total[m][h] * shrink + add;
#pragma unroll
        for (int d = 0; d < width / 8; d++) {
          sums[m][d][2 * h] *= shrink;
          sums[m][d][2 * h + 1] *= shrink;
        }
      }
    }
    multiply_onto<T, width>(sums, scores, values(step));
    __syncthreads();
  }
  wait_for_copies<0>();

#pragma unroll
  for (int m = 0; m < m_tiles; m++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      total[m][h] += __shfl_xor_sync(0xffffffffu, total[m][h], 1);
      total[m][h] += __shfl_xor_sync(0xffffffffu, total[m][h], 2);
      int row = first + warp_row + fragment_row(m, 2 * h);
      // A row without any key is zero, and so is its logarithm.
      bool none = largest[m][h] == -Limits<float>::infinity();
      if (threadIdx.x % 4 == 0 && row < p.queries)
        lse[static_cast<int64_t>(matrix) * p.queries + row] = none ? 0.0f : largest[m][h] / kLog2e + logf(total[m][h]);
      total[m][h] = none ? 0.0f : 1.0f / total[m][h];
    }
  write_rows<T, width>(out + batch * p.out.batch + head * p.out.head, p.out.row, sums, first + warp_row, p.queries,
                       p.width, [&](int m, int h) { return total[m][h]; });
}
