// scores.cuh: softmax of rows of attention scores and its derivative, where the scores are in memory.
#pragma once
#include "device/block_reduce.cuh"
// After prelude.cuh, which defines int64_t.
#include "attention/attention_params.h"

namespace undertow {

constexpr int kScoreThreads = 128;

// Where a row of scores belongs: its mask, and its place in tensors of one number per row, (batch, heads, queries).
template <class T>
struct ScoreRow {
  const T* mask;
  int64_t mask_step, end, place;

  UT_DEVICE ScoreRow(const ScoreParams& p, const T* masks, int64_t index) {
    int64_t matrix = p.first + index / p.rows, row = p.first_row + index % p.rows;
    int64_t batch = matrix / p.key_heads, head = matrix % p.key_heads * p.group + p.member;
    mask = masks ? masks + batch * p.mask.batch + head * p.mask.head + row * p.mask.row : nullptr;
    mask_step = p.mask.column;
    end = p.causal ? least_of(p.keys, row + 1) : p.keys;
    place = (batch * p.heads + head) * p.queries + row;
  }
  UT_DEVICE T score(const T* scores, int64_t j) const { return mask ? scores[j] + mask[j * mask_step] : scores[j]; }
};

}  // namespace undertow

// Softmax of a row in place, and the logarithm of its sum of exponentials: one block per row. A row without any key is
// zero, and so is its logarithm.
template <class T>
__global__ void softmax_rows(T* scores, T* lse, const T* masks, ScoreParams p) {
  ScoreRow<T> row(p, masks, blockIdx.x);
  T* s = scores + static_cast<int64_t>(blockIdx.x) * p.keys;
  T largest = -Limits<T>::infinity();
  for (int64_t j = threadIdx.x; j < row.end; j += kScoreThreads) {
    T x = row.score(s, j);
    s[j] = x;
    largest = x > largest || x != x ? x : largest;
  }
  largest = block_reduce(largest, -Limits<T>::infinity(), [](T a, T b) { return b > a || b != b ? b : a; });
  bool none = largest == -Limits<T>::infinity();
  T sum = 0;
  for (int64_t j = threadIdx.x; j < row.end; j += kScoreThreads) {
    T e = none ? T(0) : exp(s[j] - largest);
    s[j] = e;
    sum += e;
  }
  sum = block_reduce(sum, T(0), SumOf());
  T factor = none ? T(0) : T(1) / sum;
  for (int64_t j = threadIdx.x; j < p.keys; j += kScoreThreads) s[j] = j < row.end ? s[j] * factor : T(0);
  if (threadIdx.x == 0) lse[row.place] = none ? T(0) : largest + log(sum);
}

// scores become probabilities p, and grads, the gradient of p, becomes that of the scores: p (grad - delta).
template <class T>
__global__ void differentiate_rows(T* scores, T* grads, const T* lse, const T* delta, const T* masks, ScoreParams p) {
  ScoreRow<T> row(p, masks, blockIdx.x);
  T *s = scores + static_cast<int64_t>(blockIdx.x) * p.keys, *g = grads + static_cast<int64_t>(blockIdx.x) * p.keys;
  T l = lse[row.place], d = delta[row.place];
  for (int64_t j = threadIdx.x; j < p.keys; j += kScoreThreads) {
    T probability = j < row.end ? exp(row.score(s, j) - l) : T(0);
    s[j] = probability;
    g[j] = probability * (g[j] - d);
  }
}

// delta = the sum of a * b over each row: 128 threads, one row for each of the four warps.
template <class Sum, class T>
__global__ void dot_head_rows(Sum* delta, const T* a, const T* b, HeadMatrix a_at, HeadMatrix b_at, int64_t heads,
                              int64_t queries, int64_t width, int64_t n) {
  int64_t row = static_cast<int64_t>(blockIdx.x) * (kScoreThreads / 32) + threadIdx.x / 32;
  if (row >= n) return;
  int64_t query = row % queries, head = row / queries % heads, batch = row / queries / heads;
  a += batch * a_at.batch + head * a_at.head + query * a_at.row;
  b += batch * b_at.batch + head * b_at.head + query * b_at.row;
  Sum sum = 0;
  for (int64_t i = threadIdx.x % 32; i < width; i += 32)
    sum += static_cast<Sum>(a[i * a_at.column]) * static_cast<Sum>(b[i * b_at.column]);
  sum = warp_reduce(sum, SumOf());
  if (threadIdx.x % 32 == 0) delta[row] = sum;
}
