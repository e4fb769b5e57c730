// copy.cuh: functors and kernels that move, convert and fill elements.
#pragma once
#include "pointwise/loop.cuh"
// After prelude.cuh, which defines int64_t.
#include "copy/copy_params.h"

namespace undertow {

// The functor of a copy from elements of type From. See pointwise/loop.cuh.
template <class From, class To>
struct Converted {
  static constexpr int kInputs = 1;
  using In0 = From;
  using In1 = From;
  using In2 = From;
  using Out = To;
  UT_DEVICE explicit Converted(const PointwiseOperands&) {}
  UT_DEVICE To operator()(OpMath<From> x) const { return convert<To>(x); }
};
template <class T>
using Moved = Converted<T, T>;

// Numbers: conj, neg.
template <class T>
struct ConjNeg {
  static constexpr int kInputs = 1;
  using In0 = T;
  using In1 = T;
  using In2 = T;
  using Out = T;
  bool is_conj, is_neg;
  UT_DEVICE explicit ConjNeg(const PointwiseOperands& o)
      : is_conj(value_of<bool>(o.numbers[0])), is_neg(value_of<bool>(o.numbers[1])) {}
  UT_DEVICE OpMath<T> operator()(OpMath<T> x) const {
    if constexpr (kIsComplex<T>) {
      if (is_conj) x = conj(x);
    }
    if constexpr (kSame<T, bool>)
      return x;
    else
      return is_neg ? OpMath<T>(-x) : x;
  }
};

// The destination is dense along one dimension, the source along another one: tiles of both pass through shared memory.
template <class To, class From>
__global__ void __launch_bounds__(kTransposeThreads) copy_transposed(char* to, const char* from, TransposedCopy c) {
  constexpr int tile = transpose_tile(sizeof(To) > sizeof(From) ? sizeof(To) : sizeof(From));
  constexpr int step = kTransposeThreads / tile;
  __shared__ To kept[tile][tile + 1];
  const int x = threadIdx.x % tile, y = threadIdx.x / tile;
  uint32_t rest = divide_by(blockIdx.x, c.tiles_to), plane = divide_by(rest, c.tiles_from);
  const uint32_t i0 = (blockIdx.x - rest * c.tiles_to.value) * tile, j0 = (rest - plane * c.tiles_from.value) * tile;
  int64_t at[2];
  offsets_in(c.planes, plane, at);
  from += at[1] + static_cast<int64_t>(j0 + x) * sizeof(From);
  to += at[0] + static_cast<int64_t>(i0 + x) * sizeof(To);
#pragma unroll 4
  for (int i = y; i < tile; i += step)
    if (j0 + x < c.size_from && i0 + i < c.size_to)
      kept[i][x] = convert<To>(*reinterpret_cast<const From*>(from + (i0 + i) * c.from_stride));
  __syncthreads();
#pragma unroll 4
  for (int j = y; j < tile; j += step)
    if (i0 + x < c.size_to && j0 + j < c.size_from) *reinterpret_cast<To*>(to + (j0 + j) * c.to_stride) = kept[x][j];
}

// Dense memory from an address that is a multiple of 16 on: whole vectors, and the bytes that are left.
__global__ void fill_dense(char* to, uint4 pattern, int64_t bytes) {
  const int64_t vectors = bytes / 16;
  for (int64_t i = thread_number(); i < vectors; i += thread_count()) reinterpret_cast<uint4*>(to)[i] = pattern;
  const int64_t left = thread_number();
  if (left < bytes % 16) to[vectors * 16 + left] = reinterpret_cast<const char*>(&pattern)[left];
}

// T: any type of the elements' width.
template <class T>
__global__ void fill_strided(char* to, uint4 pattern, uint32_t n, LoopNest<1> nest) {
  for (uint32_t i = thread_number(); i < n; i += thread_count()) {
    int64_t at[1];
    offsets_in(nest, i, at);
    *reinterpret_cast<T*>(to + at[0]) = *reinterpret_cast<const T*>(&pattern);
  }
}

}  // namespace undertow
