// mask.cuh: elements where a mask is true, in order. Each block has a run of the mask: blocks count their true elements,
// the counts are added up, and each element then knows its number.
#pragma once
#include "device/block_scan.cuh"
#include "device/strided.cuh"
#include "index/index_params.h"
#include "index/update.cuh"

namespace undertow {

inline constexpr int kMaskEach = 8;  // neighbouring elements of a thread

// The number of true elements of this thread's, from `first` on.
UT_DEVICE int count_true(const uint8_t* mask, int64_t first, int64_t n) {
  int count = 0;
  for (int k = 0; k < kMaskEach; k++) count += first + k < n && mask[first + k];
  return count;
}

// Calls f(i, number) for each true element i of the block's run; `number` counts all true elements before.
template <class F>
UT_DEVICE void for_each_true(const uint8_t* mask, const int64_t* before, int64_t n, int64_t per_block, F&& f) {
  const int64_t first = blockIdx.x * per_block, last = least_of(first + per_block, n);
  int64_t number = before[blockIdx.x];
  for (int64_t tile = first; tile < last; tile += static_cast<int64_t>(blockDim.x) * kMaskEach) {
    const int64_t own = tile + static_cast<int64_t>(threadIdx.x) * kMaskEach;
    int total;
    int64_t at = number + sum_before(count_true(mask, own, last), total);
    for (int k = 0; k < kMaskEach; k++)
      if (own + k < last && mask[own + k]) f(own + k, at++);
    number += total;
  }
}

}  // namespace undertow

template <int = 0>
__global__ void mask_counts(int64_t* counts, const uint8_t* mask, int64_t n, int64_t per_block) {
  const int64_t first = blockIdx.x * per_block, last = least_of(first + per_block, n);
  int count = 0, total;
  for (int64_t own = first + static_cast<int64_t>(threadIdx.x) * kMaskEach; own < last;
       own += static_cast<int64_t>(blockDim.x) * kMaskEach)
    count += count_true(mask, own, last);
  sum_before(count, total);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

// One block: counts become sums of those before; the last entry, the total.
template <int = 0>
__global__ void __launch_bounds__(1024) add_up_counts(int64_t* counts, int blocks) {
  int64_t before = 0;
  for (int first = 0; first < blocks; first += blockDim.x) {
    const int at = first + threadIdx.x;
    int64_t total;
    const int64_t sum = sum_before<int64_t>(at < blocks ? counts[at] : 0, total);
    if (at < blocks) counts[at] = before + sum;
    before += total;
  }
  if (threadIdx.x == 0) counts[blocks] = before;
}

template <class U>
__global__ void select_masked(U* out, const U* in, const uint8_t* mask, const int64_t* before, int64_t n,
                              int64_t per_block) {
  for_each_true(mask, before, n, per_block, [&](int64_t i, int64_t number) { out[number] = in[i]; });
}

// `out` gets the source's next element where the mask is true. Elements beyond the source's `available` are left out.
template <class U>
__global__ void put_masked(U* out, const U* source, const uint8_t* mask, const int64_t* before, int64_t n,
                           int64_t per_block, int64_t available) {
  for_each_true(mask, before, n, per_block, [&](int64_t i, int64_t number) {
    if (number < available) out[i] = source[number];
  });
}
template <class T>
__global__ void add_masked(T* out, const T* source, const uint8_t* mask, const int64_t* before, int64_t n,
                           int64_t per_block) {
  using M = OpMath<T>;
  for_each_true(mask, before, n, per_block, [&](int64_t i, int64_t number) {
    out[i] = convert<T>(updated<Add, M>(convert<M>(out[i]), convert<M>(source[number])));
  });
}

// The coordinates of true elements: out[d * total + number]. The nest has the mask's sizes.
template <int = 0>
__global__ void nonzero_indices(int64_t* out, const uint8_t* mask, const int64_t* before, int64_t n, int64_t per_block,
                                int64_t total, Nest nest) {
  for_each_true(mask, before, n, per_block, [&](int64_t i, int64_t number) {
    int64_t rest = i;
    for (int d = nest.ndim - 1; d >= 0; d--) {
      const int64_t next = rest / nest.sizes[d];
      out[d * total + number] = rest - next * nest.sizes[d];
      rest = next;
    }
  });
}

// Operands: the output, the input, the mask.
template <class U>
__global__ void fill_masked(char* out, const char* in, const char* mask, const U* value, int64_t n,
                            StridedLayout layout) {
  const U with = *value;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[3];
    offsets_of<3>(layout, i, at);
    *reinterpret_cast<U*>(out + at[0]) =
        *reinterpret_cast<const uint8_t*>(mask + at[2]) ? with : *reinterpret_cast<const U*>(in + at[1]);
  }
}
