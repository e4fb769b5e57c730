// radix.cuh: a stable least-significant-digit radix sort of positions by their keys, in digits of 8 bits. Three kernels
// per digit: each block counts its digits, the counts are added up over the blocks, each block moves its elements.
#pragma once
#include "device/block_scan.cuh"
#include "sort/keys.cuh"
#include "sort/radix_params.h"

namespace undertow {

inline constexpr int kDigits = 256;  // and threads of a block
inline constexpr int kWarps = kDigits / 32;
inline constexpr int kEach = 8;  // elements of a thread in one round
inline constexpr int kTile = kDigits * kEach;

// The digit of element i: of its key, or of the number of its row.
template <class K>
UT_DEVICE int digit_of(const RadixPass& pass, K key, uint32_t position) {
  const K from = pass.row_length ? static_cast<K>(position / static_cast<uint32_t>(pass.row_length)) : key;
  return static_cast<int>(from >> pass.shift) & (kDigits - 1);
}

}  // namespace undertow

template <class T>
__global__ void make_keys(KeyOf<T>* keys, const T* in, int64_t n, bool descending) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) keys[i] = key_of(in[i], descending);
}

// counts[digit][block]
template <class K>
__global__ void radix_count(uint32_t* counts, const K* keys, const uint32_t* positions, RadixPass pass) {
  __shared__ uint32_t own[kDigits];
  own[threadIdx.x] = 0;
  __syncthreads();
  const int64_t first = blockIdx.x * pass.per_block, last = least_of(first + pass.per_block, pass.n);
  for (int64_t i = first + threadIdx.x; i < last; i += kDigits)
    atomicAdd(&own[digit_of(pass, keys[i], pass.row_length ? positions[i] : 0)], 1u);
  __syncthreads();
  counts[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// A block per digit: its counts become the sums of those of the blocks before.
template <int = 0>
__global__ void radix_add_up(uint32_t* counts, uint32_t* totals, int blocks) {
  counts += static_cast<int64_t>(blockIdx.x) * blocks;
  uint32_t before = 0, round;
  for (int first = 0; first < blocks; first += kDigits) {
    const int at = first + threadIdx.x;
    const uint32_t sum = sum_before(at < blocks ? counts[at] : 0u, round);
    if (at < blocks) counts[at] = before + sum;
    before += round;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

// Without `positions`, those of the elements are 0, 1, 2, ...
template <class K>
__global__ void radix_move(K* keys_to, uint32_t* positions_to, const K* keys, const uint32_t* positions,
                           const uint32_t* counts, const uint32_t* totals, RadixPass pass) {
  __shared__ uint32_t next[kDigits];           // where the next element with a digit goes
  __shared__ uint32_t seen[kWarps][kDigits];  // elements of each warp in this round
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  uint32_t all;
  next[threadIdx.x] =
      sum_before(totals[threadIdx.x], all) + counts[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x];
  const int64_t first = blockIdx.x * pass.per_block, last = least_of(first + pass.per_block, pass.n);
  for (int64_t tile = first; tile < last; tile += kTile) {
    for (int k = 0; k < kWarps; k++) seen[k][threadIdx.x] = 0;
    __syncthreads();
    K key[kEach];
    uint32_t position[kEach], rank[kEach];
    int digit[kEach];
    // A warp has neighbouring elements, 32 at a time, so that equal digits keep their order.
#pragma unroll
    for (int k = 0; k < kEach; k++) {
      const int64_t i = tile + (warp * kEach + k) * 32 + lane;
      const bool inside = i < last;
      if (inside) {
        key[k] = keys[i];
        position[k] = positions ? positions[i] : static_cast<uint32_t>(i);
      }
      digit[k] = inside ? digit_of(pass, key[k], position[k]) : kDigits;
      const unsigned same = __match_any_sync(0xffffffffu, digit[k]);
      const int leader = __ffs(same) - 1;
      uint32_t before = 0;
      if (lane == leader && inside) {
        before = seen[warp][digit[k]];
        seen[warp][digit[k]] = before + __popc(same);
      }
      rank[k] = __shfl_sync(0xffffffffu, before, leader) + __popc(same & ((1u << lane) - 1));
      __syncwarp();
    }
    __syncthreads();
    // A thread per digit: the sums over the warps before.
    uint32_t sum = next[threadIdx.x];
    for (int k = 0; k < kWarps; k++) {
      const uint32_t own = seen[k][threadIdx.x];
      seen[k][threadIdx.x] = sum;
      sum += own;
    }
    next[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kEach; k++)
      if (digit[k] < kDigits) {
        const uint32_t to = seen[warp][digit[k]] + rank[k];
        keys_to[to] = key[k];
        positions_to[to] = position[k];
      }
    __syncthreads();
  }
}

// The results of a sort of rows of `n` elements: positions count from the beginning of their row.
template <class T>
__global__ void take_sorted(T* values, int64_t* indices, const T* in, const uint32_t* positions, int64_t total,
                            int64_t n) {
  for (int64_t i = thread_number(); i < total; i += thread_count()) {
    const uint32_t from = positions[i];
    values[i] = in[from];
    indices[i] = from % static_cast<uint32_t>(n);
  }
}
