// extremum.cuh: the largest or least element of each dense row and where it is first, in one pass. NaN wins. A row has
// many parts if there are few rows: a second launch combines them, by the positions of the parts' elements.
#pragma once
#include "device/lanes.cuh"
#include "device/packs.cuh"
// After prelude.cuh, which defines int64_t.
#include "reduce/extremum_params.h"

namespace undertow {

template <class M>
struct Found {
  M value;
  int at;  // from the beginning of the part
};

template <bool max, class M>
UT_DEVICE bool is_better(M x, M than) {
  return max ? !(x <= than) && than == than : !(x >= than) && than == than;
}

template <bool max, class M>
UT_DEVICE void take_better(Found<M>& best, const Found<M>& other) {
  const bool better = is_better<max>(other.value, best.value), worse = is_better<max>(best.value, other.value);
  if (better || (!worse && other.at < best.at)) best = other;
}

template <bool max, class M>
UT_DEVICE void take_best_of_warp(Found<M>& best) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2)
    take_better<max>(best, Found<M>{from_lane_above(best.value, by), from_lane_above(best.at, by)});
}

}  // namespace undertow

// `lanes` threads, a warp or the whole block, per part of a row.
template <class T, bool max, int lanes>
__global__ void __launch_bounds__(kExtremumThreads)
    row_extremum(T* values, int64_t* at, const T* in, const int64_t* places, ExtremumRows p) {
  using M = OpMath<T>;
  constexpr int width = kPackOf<T>, at_once = 4;
  const int64_t output = static_cast<int64_t>(blockIdx.x) * (kExtremumThreads / lanes) + threadIdx.x / lanes;
  const int thread = threadIdx.x % lanes;
  const bool exists = output < p.rows * p.parts;
  const int64_t row = exists ? output / p.parts : 0, begin = exists ? (output - row * p.parts) * p.chunk : 0;
  const T* from = in + row * p.n + begin;
  const int count = static_cast<int>(least_of(p.chunk, p.n - begin));
  Found<M> best = {static_cast<M>(from[0]), 0};
  auto see = [&](T element, int i) {
    const M x = static_cast<M>(element);
    if (is_better<max>(x, best.value)) best = {x, i};
  };
  // Each thread sees its elements in order, so that the first of equal ones stays.
  const int head = least_of(count, static_cast<int>((16 - (reinterpret_cast<uintptr_t>(from) & 15)) % 16 / sizeof(T)));
  if (thread < head) see(from[thread], thread);
  const int packs = (count - head) / width;
  int i = thread;
  for (; i + (at_once - 1) * lanes < packs; i += at_once * lanes) {
    Pack<T, width> loaded[at_once];
#pragma unroll
    for (int u = 0; u < at_once; u++) loaded[u] = load_pack<width>(from + head + (i + u * lanes) * width);
#pragma unroll
    for (int u = 0; u < at_once; u++)
#pragma unroll
      for (int j = 0; j < width; j++) see(loaded[u].at[j], head + (i + u * lanes) * width + j);
  }
  for (; i < packs; i += lanes) {
    const Pack<T, width> loaded = load_pack<width>(from + head + i * width);
#pragma unroll
    for (int j = 0; j < width; j++) see(loaded.at[j], head + i * width + j);
  }
  const int last = head + packs * width + thread;
  if (last < count) see(from[last], last);

  take_best_of_warp<max>(best);
  if constexpr (lanes > 32) {
    constexpr int warps = kExtremumThreads / 32;
    __shared__ M kept_values[warps];
    __shared__ int kept_places[warps];
    if (threadIdx.x % 32 == 0) {
      kept_values[threadIdx.x / 32] = best.value;
      kept_places[threadIdx.x / 32] = best.at;
    }
    __syncthreads();
    if (threadIdx.x == 0)
      for (int w = 1; w < warps; w++) take_better<max>(best, Found<M>{kept_values[w], kept_places[w]});
  }
  if (!exists || thread != 0) return;
  values[output] = static_cast<T>(best.value);
  at[output] = places ? places[row * p.n + begin + best.at] : begin + best.at;
}
