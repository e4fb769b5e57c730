// short_rows.cuh: rows that fit shared memory, sorted there: very short ones by a bitonic network, in which equal keys
// are ordered by their positions, so the result is that of a stable sort; others digit by digit.
#pragma once
#include "sort/digits.cuh"

namespace undertow {

// Sorts `rows` rows of `width`, a power of two, in shared memory; the block's threads share all of them.
template <class K>
UT_DEVICE void sort_in_block(K* keys, int* positions, int width, int rows) {
  const int pairs = width * rows / 2;
  for (int size = 2; size <= width; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      for (int p = threadIdx.x; p < pairs; p += blockDim.x) {
        const int a = 2 * p - (p & (step - 1)), b = a + step;
        const bool up = (a & (width - 1) & size) == 0;
        const bool wrong = keys[b] < keys[a] || (keys[b] == keys[a] && positions[b] < positions[a]);
        if (wrong == up) {
          const K key = keys[a];
          const int position = positions[a];
          keys[a] = keys[b];
          positions[a] = positions[b];
          keys[b] = key;
          positions[b] = position;
        }
      }
      __syncthreads();
    }
}

// Loads rows first, first + 1, ... of n elements and fills them up to `width`; returns how many there are.
template <class T>
UT_DEVICE int load_rows(KeyOf<T>* keys, int* positions, const T* in, int64_t first, int64_t rows, int at_once, int n,
                        int width, bool descending) {
  const int here = static_cast<int>(least_of(static_cast<int64_t>(at_once), rows - first));
  for (int i = threadIdx.x; i < at_once * width; i += blockDim.x) {
    const int row = i / width, at = i - row * width;
    const bool inside = row < here && at < n;
    keys[i] = inside ? key_of(in[(first + row) * n + at], descending) : ~KeyOf<T>(0);
    positions[i] = at;
  }
  __syncthreads();
  return here;
}

}  // namespace undertow

// The first k elements of each sorted row, and their positions. `at_once` rows per block.
template <class T>
__global__ void __launch_bounds__(1024) sort_short_rows(T* values, int64_t* indices, const T* in, int64_t rows, int n, int k, int width,
                                int at_once, bool descending) {
  UT_DYNAMIC_SHARED(unsigned char, memory);
  auto* keys = reinterpret_cast<KeyOf<T>*>(memory);
  auto* positions = reinterpret_cast<int*>(memory + at_once * width * sizeof(KeyOf<T>));
  const int64_t first = static_cast<int64_t>(blockIdx.x) * at_once;
  const int here = load_rows(keys, positions, in, first, rows, at_once, n, width, descending);
  sort_in_block(keys, positions, width, at_once);
  for (int i = threadIdx.x; i < here * k; i += blockDim.x) {
    const int row = i / k, from = positions[row * width + (i - row * k)];
    values[first * k + i] = in[(first + row) * n + from];
    indices[first * k + i] = from;
  }
}

// One row of keys: only the positions.
template <class K>
__global__ void __launch_bounds__(1024) sort_short_keys(uint32_t* order, const K* in, int n, int width) {
  UT_DYNAMIC_SHARED(unsigned char, memory);
  auto* keys = reinterpret_cast<K*>(memory);
  auto* positions = reinterpret_cast<int*>(memory + width * sizeof(K));
  load_rows(keys, positions, in, 0, 1, 1, n, width, false);
  sort_in_block(keys, positions, width, 1);
  for (int i = threadIdx.x; i < n; i += blockDim.x) order[i] = static_cast<uint32_t>(positions[i]);
}

// The first k elements of each sorted row, and their positions: a block per row of at most `each` elements per thread.
template <class T, int each>
__global__ void __launch_bounds__(kDigits)
    sort_rows_by_digits(T* values, int64_t* indices, const T* in, int n, int k, bool descending) {
  __shared__ DigitCounts counts;
  __shared__ KeyOf<T> keys[kDigits * each];
  __shared__ uint16_t positions[kDigits * each];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, mine = warp * each * 32 + lane;
  in += static_cast<int64_t>(blockIdx.x) * n;
  KeyOf<T> key[each];
  uint16_t position[each];
#pragma unroll
  for (int e = 0; e < each; e++) {
    const int at = mine + e * 32;
    key[e] = at < n ? key_of(in[at], descending) : ~KeyOf<T>(0);  // what is missing comes last
    position[e] = static_cast<uint16_t>(at);
  }
  for (int shift = 0; shift < kKeyBits<T>; shift += kDigitBits) {
    uint32_t rank[each], first;
    rank_in_warp(counts, [&](int e) { return static_cast<int>(key[e] >> shift) & (kDigits - 1); }, rank);
    place_digits(counts, first);
    __syncthreads();
#pragma unroll
    for (int e = 0; e < each; e++) {
      const uint32_t to = place_in_block(counts, rank[e]);
      keys[to] = key[e];
      positions[to] = position[e];
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < each; e++) {
      key[e] = keys[mine + e * 32];
      position[e] = positions[mine + e * 32];
    }
  }
  values += static_cast<int64_t>(blockIdx.x) * k;
  indices += static_cast<int64_t>(blockIdx.x) * k;
  for (int i = threadIdx.x; i < k; i += kDigits) {
    const int from = positions[i];
    values[i] = in[from];
    indices[i] = from;
  }
}
