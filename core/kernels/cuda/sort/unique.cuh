// unique.cuh: runs of equal rows in a given order; an element is a row of one.
#pragma once
#include "device/convert.cuh"
#include "sort/keys.cuh"

// keys[i] = the key of one column of the row at position order[i], or at i without an order.
template <class T>
__global__ void column_keys(KeyOf<T>* keys, const T* rows, const uint32_t* order, int64_t n, int64_t width,
                            int64_t column) {
  for (int64_t i = thread_number(); i < n; i += thread_count())
    keys[i] = key_of(rows[(order ? order[i] : i) * width + column]);
}
template <int = 0>
__global__ void compose_orders(uint32_t* out, const uint32_t* first, const uint32_t* then, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) out[i] = first[then[i]];
}

// Does row i differ from the one before? NaN differs from everything.
template <class T>
__global__ void find_heads(bool* heads, const T* rows, const uint32_t* order, int64_t n, int64_t width) {
  using M = OpMath<T>;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    bool head = i == 0;
    if (!head) {
      const T *a = rows + (order ? order[i - 1] : i - 1) * width, *b = rows + (order ? order[i] : i) * width;
      for (int64_t k = 0; k < width && !head; k++) head = !(convert<M>(a[k]) == convert<M>(b[k]));
    }
    heads[i] = head;
  }
}

// The rows where runs start.
template <class T>
__global__ void take_heads(T* out, const T* rows, const uint32_t* order, const int64_t* starts, int64_t runs,
                           int64_t width) {
  for (int64_t i = thread_number(); i < runs * width; i += thread_count()) {
    const int64_t run = i / width, at = starts[run];
    out[i] = rows[(order ? order[at] : at) * width + (i - run * width)];
  }
}
template <int = 0>
__global__ void run_lengths(int64_t* counts, const int64_t* starts, int64_t runs, int64_t n) {
  for (int64_t i = thread_number(); i < runs; i += thread_count())
    counts[i] = (i + 1 < runs ? starts[i + 1] : n) - starts[i];
}
// The number of each row's run.
template <int = 0>
__global__ void run_numbers(int64_t* inverse, const uint32_t* order, const int64_t* starts, int64_t runs, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t low = 0, high = runs;  // the last run that starts at or before i
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      if (starts[middle] <= i)
        low = middle;
      else
        high = middle;
    }
    inverse[order ? order[i] : i] = low;
  }
}
