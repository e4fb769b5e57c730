// block_scan.cuh: sums over the threads of a block with a lower number.
#pragma once
#include "device/prelude.cuh"

namespace undertow {

// For blocks of whole warps in one dimension. `total`: the sum over all threads, for every thread.
template <class T>
UT_DEVICE T sum_before(T v, T& total) {
  __shared__ T of_warp[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  T sum = v;
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    const T other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  __syncthreads();  // the memory may still be read from an earlier call
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  T before = 0;
  total = 0;
  for (int k = 0; k < warps; k++) {
    if (k == warp) before = total;
    total += of_warp[k];
  }
  return before + sum - v;
}

}  // namespace undertow
