// flash_backward.cuh: the gradients of attention by tiles, for half dtypes: one kernel for keys and values, one for
// queries. Both compute the probabilities again; in exchange nothing is added up atomically, so the results are always
// the same bits.
#pragma once
#include "attention/flash_common.cuh"

// A block computes the gradients of 64 * m_tiles keys and values of one key head, over tiles of queries. The scores
// are transposed: a row is a key.
template <class T, int width, int m_tiles, int queries_at_once, bool masked>
__global__ void __launch_bounds__(kFlashThreads)
    flash_backward_keys(T* grad_key, T* grad_value, const T* grad, const T* query, const T* key, const T* value,
                        const float* lse, const float* delta, const float* masks, FlashParams p, int matrices,
                        bool causal) {
  constexpr int kRows = kFlashWarps * m_tiles * 16, kTiles = queries_at_once / 8;
  using KeyTile = SharedTile<T, kRows, width>;
  using QueryTile = SharedTile<T, queries_at_once, width>;
  UT_DYNAMIC_SHARED(T, shared);
  KeyTile keys{shared}, values{shared + KeyTile::kElements};
  T* rest = shared + 2 * KeyTile::kElements;
  auto queries = [&](int step) { return QueryTile{rest + step % 2 * QueryTile::kElements}; };
  auto grads = [&](int step) { return QueryTile{rest + (2 + step % 2) * QueryTile::kElements}; };
  __shared__ float stats[2][2][queries_at_once];  // lse and delta of each query

  int first = blockIdx.x / matrices * kRows, matrix = blockIdx.x % matrices, key_heads = p.heads / p.group;
  int batch = matrix / key_heads, key_head = matrix % key_heads;
  int warp_row = threadIdx.x / 32 * m_tiles * 16;
  key += batch * p.key.batch + key_head * p.key.head + first * p.key.row;
  value += batch * p.value.batch + key_head * p.value.head + first * p.value.row;

  int tiles = (p.queries + queries_at_once - 1) / queries_at_once,
          first_tile = causal ? least_of(first / queries_at_once, tiles) : 0, each = tiles - first_tile,
          steps = each * p.group;
  auto start_copy = [&](int step) {
    int head = key_head * p.group + step / each, at = (first_tile + step % each) * queries_at_once;
    int count = p.queries - at;
    queries(step).copy_from(query + batch * p.query.batch + head * p.query.head + at * p.query.row, p.query.row,
                                count, p.width, threadIdx.x, kFlashThreads);
    grads(step).copy_from(grad + batch * p.grad.batch + head * p.grad.head + at * p.grad.row, p.grad.row, count,
                              p.width, threadIdx.x, kFlashThreads);
    if (threadIdx.x < queries_at_once) {
      int64_t place = static_cast<int64_t>(batch * p.heads + head) * p.queries + at + threadIdx.x;
      bool inside = static_cast<int>(threadIdx.x) < count;
      stats[step % 2][0][threadIdx.x] = inside ? lse[place] * kLog2e : 0.0f;
      stats[step % 2][1][threadIdx.x] = inside ? delta[place] : 0.0f;
    }
    end_copy_group();
  };
  keys.copy_from(key, p.key.row, p.keys - first, p.width, threadIdx.x, kFlashThreads);
  values.copy_from(value, p.value.row, p.keys - first, p.width, threadIdx.x, kFlashThreads);
  if (steps) start_copy(0);

  float key_sums[m_tiles][width / 8][4], value_sums[m_tiles][width / 8][4];
  set_zero(key_sums);
  set_zero(value_sums);
  for (int step = 0; step < steps; step++) {
    if (step + 1 < steps) {
      start_copy(step + 1);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    int first_query = (first_tile + step % each) * queries_at_once, first_key = first + warp_row;
    FlashScores rule(p, masks, causal, batch, key_head * p.group + step / each);
    bool whole = !masked && first_key + m_tiles * 16 <= p.keys && first_query + queries_at_once <= p.queries &&
                 (!causal || first_key + m_tiles * 16 - 1 <= first_query);
    float scores[m_tiles][kTiles][4], changes[m_tiles][kTiles][4];
    multiply_transposed<T, width>(scores, keys, warp_row, queries(step));
#pragma unroll
    for (int m = 0; m < m_tiles; m++)
#pragma unroll
      for (int n = 0; n < kTiles; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          int column = fragment_column(n, i);
          float score = whole ? scores[m][n][i] * rule.scale
                              : rule.of<masked>(scores[m][n][i], first_query + column, first_key + fragment_row(m, i));
          scores[m][n][i] = fast_exp2(score - stats[step % 2][0][column]);
        }
    multiply_onto<T, width>(value_sums, scores, grads(step));
    multiply_transposed<T, width>(changes, values, warp_row, grads(step));
#pragma unroll
    for (int m = 0; m < m_tiles; m++)
#pragma unroll
      for (int n = 0; n < kTiles; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          changes[m][n][i] = scores[m][n][i] * (changes[m][n][i] - stats[step % 2][1][fragment_column(n, i)]);
    multiply_onto<T, width>(key_sums, changes, queries(step));
    __syncthreads();
  }
  wait_for_copies<0>();
  write_rows<T, width>(grad_value + batch * p.grad_value.batch + key_head * p.grad_value.head, p.grad_value.row,
                       value_sums, first + warp_row, p.keys, p.width, [](int, int) { return 1.0f; });
  write_rows<T, width>(grad_key + batch * p.grad_key.batch + key_head * p.grad_key.head, p.grad_key.row, key_sums,
                       first + warp_row, p.keys, p.width, [&](int, int) { return p.scale; });
}

// A block computes the gradients of 64 * m_tiles queries of one head, over tiles of keys.
template <class T, int width, int m_tiles, int keys_at_once, bool masked>
__global__ void __launch_bounds__(kFlashThreads)
    flash_backward_queries(T* grad_query, const T* grad, const T* query, const T* key, const T* value,
                           const float* lse, const float* delta, const float* masks, FlashParams p, int matrices,
                           bool causal) {
  constexpr int kRows = kFlashWarps * m_tiles * 16, kTiles = keys_at_once / 8;
  using QueryTile = SharedTile<T, kRows, width>;
  using KeyTile = SharedTile<T, keys_at_once, width>;
  UT_DYNAMIC_SHARED(T, shared);
  QueryTile queries{shared}, grads{shared + QueryTile::kElements};
  T* rest = shared + 2 * QueryTile::kElements;
  auto keys = [&](int step) { return KeyTile{rest + step % 2 * KeyTile::kElements}; };
  auto values = [&](int step) { return KeyTile{rest + (2 + step % 2) * KeyTile::kElements}; };

  int tiles = (p.queries + kRows - 1) / kRows, order = blockIdx.x / matrices, matrix = blockIdx.x % matrices;
  int first = (causal ? tiles - 1 - order : order) * kRows, batch = matrix / p.heads, head = matrix % p.heads;
  int warp_row = threadIdx.x / 32 * m_tiles * 16;
  query += batch * p.query.batch + head * p.query.head + first * p.query.row;
  grad += batch * p.grad.batch + head * p.grad.head + first * p.grad.row;
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
  grads.copy_from(grad, p.grad.row, p.queries - first, p.width, threadIdx.x, kFlashThreads);
  if (steps) start_copy(0);

  float sums[m_tiles][width / 8][4], logs[m_tiles][2], deltas[m_tiles][2];
  set_zero(sums);
#pragma unroll
  for (int m = 0; m < m_tiles; m++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      int row = first + warp_row + fragment_row(m, 2 * h);
      int64_t place = static_cast<int64_t>(matrix) * p.queries + row;
      logs[m][h] = row < p.queries ? lse[place] * kLog2e : 0.0f;
      deltas[m][h] = row < p.queries ? delta[place] : 0.0f;
    }
  for (int step = 0; step < steps; step++) {
    if (step + 1 < steps) {
      start_copy(step + 1);
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    __syncthreads();
    int first_key = step * keys_at_once, first_query = first + warp_row;
    bool whole = !masked && first_key + keys_at_once <= p.keys && first_query + m_tiles * 16 <= p.queries &&
                 (!causal || first_key + keys_at_once - 1 <= first_query);
    float scores[m_tiles][kTiles][4], changes[m_tiles][kTiles][4];
    multiply_transposed<T, width>(scores, queries, warp_row, keys(step));
    multiply_transposed<T, width>(changes, grads, warp_row, values(step));
#pragma unroll
    for (int m = 0; m < m_tiles; m++)
#pragma unroll
      for (int n = 0; n < kTiles; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          float score = whole ? scores[m][n][i] * rule.scale
                              : rule.of<masked>(scores[m][n][i], first_query + fragment_row(m, i),
                                                first_key + fragment_column(n, i));
          changes[m][n][i] = fast_exp2(score - logs[m][i / 2]) * (changes[m][n][i] - deltas[m][i / 2]);
        }
    multiply_onto<T, width>(sums, changes, keys(step));
    __syncthreads();
  }
  wait_for_copies<0>();
  write_rows<T, width>(grad_query + batch * p.grad_query.batch + head * p.grad_query.head, p.grad_query.row, sums,
                       first + warp_row, p.queries, p.width, [&](int, int) { return p.scale; });
}
