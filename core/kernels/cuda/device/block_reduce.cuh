// block_reduce.cuh: a value per thread is combined over a warp or a block, always in the same order, so that the same
// inputs give the same bits. Every thread receives the result.
#pragma once
#include "device/prelude.cuh"

namespace undertow {

inline constexpr unsigned kAllLanes = 0xffffffffu;

// Two values that are combined at once.
template <class T>
struct Two {
  T a, b;
};

struct SumOf {
  template <class T>
  UT_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
  template <class T>
  UT_DEVICE Two<T> operator()(Two<T> x, Two<T> y) const {
    return {x.a + y.a, x.b + y.b};
  }
};
struct LargestOf {
  template <class T>
  UT_DEVICE T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

template <class T>
UT_DEVICE T shuffle_xor(T v, int mask) {
  return __shfl_xor_sync(kAllLanes, v, mask);
}
template <class T>
UT_DEVICE Two<T> shuffle_xor(Two<T> v, int mask) {
  return {shuffle_xor(v.a, mask), shuffle_xor(v.b, mask)};
}

template <class T, class F>
UT_DEVICE T warp_reduce(T v, F f) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) v = f(v, shuffle_xor(v, mask));
  return v;
}

// For blocks of whole warps, in one dimension. `identity` leaves any value unchanged.
template <class T, class F>
UT_DEVICE T block_reduce(T v, T identity, F f) {
  __shared__ T parts[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  v = warp_reduce(v, f);
  __syncthreads();  // the memory may still be read from an earlier call
  if (lane == 0) parts[warp] = v;
  __syncthreads();
  v = lane < warps ? parts[lane] : identity;
  return warp_reduce(v, f);
}

// Over the threads that share a row: a warp, or the whole block.
template <bool whole_block, class T, class F>
UT_DEVICE T group_reduce(T v, T identity, F f) {
  if constexpr (whole_block)
    return block_reduce(v, identity, f);
  else
    return warp_reduce(v, f);
}

}  // namespace undertow
