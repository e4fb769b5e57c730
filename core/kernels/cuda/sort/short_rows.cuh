// short_rows.cuh: rows that fit shared memory, sorted there by a bitonic network. Equal keys are ordered by their
// positions, so the result is that of a stable sort.
#pragma once
#include "sort/keys.cuh"

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
