// rows.cuh: gather and scatter_add along the last dimension, where an index chooses an element of its own row. A block
// keeps the row in shared memory: there, elements at any places are read or added to at once, while each one in global
// memory takes a transaction of 32 bytes.
#pragma once
#include "device/packs.cuh"
#include "index/positions.cuh"
#include "index/update.cuh"

namespace undertow {

inline constexpr int kRowThreads = 256;
inline constexpr int kRowAhead = 4;  // loads of a thread that are under way at once

// n dense numbers as numbers of type To in shared memory, in whole packs if the row is aligned.
template <class To, class T>
UT_DEVICE void keep_row(To* row, const T* from, int n) {
  constexpr int pack = kPackOf<T>;
  const bool aligned = (reinterpret_cast<uintptr_t>(from) & 15) == 0;
  walk_row_ahead<pack, kRowAhead>(
      from, n, [&](int64_t i, int) { return load_pack<pack>(from + i); },
      [&](int64_t i, int, const Pack<T, pack>& v) {
        Pack<To, pack> kept;
#pragma unroll
        for (int k = 0; k < pack; k++) kept.at[k] = convert<To>(v.at[k]);
        if (aligned) return store_pack(row + i, kept);
#pragma unroll
        for (int k = 0; k < pack; k++) row[i + k] = kept.at[k];
      },
      [&](int64_t i) { row[i] = convert<To>(from[i]); });
  __syncthreads();
}

// A position of this list that is in range; or -1, after the report.
UT_DEVICE int checked_position(const PositionLists& lists, int64_t given) {
  int64_t position = given;
  if (in_range(lists.list[0], position)) return static_cast<int>(position);
  report_error(lists.slot, lists.list[0].raise, given, lists.list[0].dim, lists.list[0].size);
  return -1;
}

}  // namespace undertow

// out[i] = the element of in's row at position at[i], for `count` positions of each row. U: a type as wide as an
// element. `each` positions of a thread are neighbours: 2 if all rows of positions and results allow it. The nest is
// over the rows, with in's strides.
template <class U, int each>
__global__ void __launch_bounds__(kRowThreads, 8)
    gather_rows(U* out, const char* in, int count, Nest nest, PositionLists lists) {
  UT_DYNAMIC_SHARED(uint4, memory);
  U* const row = reinterpret_cast<U*>(memory);
  int64_t start[1];
  offsets_in<1>(nest, blockIdx.x, start);
  keep_row(row, reinterpret_cast<const U*>(in + start[0]), static_cast<int>(lists.list[0].size));
  const int64_t begin = blockIdx.x * static_cast<int64_t>(count);
  const auto* const at = reinterpret_cast<const Pack<int64_t, each>*>(lists.list[0].at + begin);
  auto* const to = reinterpret_cast<Pack<U, each>*>(out + begin);
  const int packs = count / each;
  for (int first = threadIdx.x; first < packs; first += kRowAhead * kRowThreads) {
    Pack<int64_t, each> given[kRowAhead];
#pragma unroll
    for (int k = 0; k < kRowAhead; k++)
      if (first + k * kRowThreads < packs) given[k] = at[first + k * kRowThreads];
#pragma unroll
    for (int k = 0; k < kRowAhead; k++) {
      if (first + k * kRowThreads >= packs) break;
      Pack<U, each> v;
#pragma unroll
      for (int j = 0; j < each; j++) v.at[j] = row[greatest_of(checked_position(lists, given[k].at[j]), 0)];
      to[first + k * kRowThreads] = v;
    }
  }
}

// out's row at position at[i] += src[i], for `count` positions of each row; the sums of a row are kept in its
// arithmetic type. Operands of the nest over the rows: out, src, whose elements are src_stride bytes apart.
template <class T>
__global__ void __launch_bounds__(kRowThreads, 8)
    scatter_add_rows(char* out, const char* src, int count, int64_t src_stride, Nest nest, PositionLists lists) {
  using M = OpMath<T>;
  UT_DYNAMIC_SHARED(uint4, memory);
  M* const row = reinterpret_cast<M*>(memory);
  int64_t start[2];
  offsets_in<2>(nest, blockIdx.x, start);
  T* const to = reinterpret_cast<T*>(out + start[0]);
  src += start[1];
  const int size = static_cast<int>(lists.list[0].size);
  keep_row(row, to, size);
  const int64_t* const at = lists.list[0].at + blockIdx.x * static_cast<int64_t>(count);
  for (int first = threadIdx.x; first < count; first += kRowAhead * kRowThreads) {
    int64_t given[kRowAhead];
    T with[kRowAhead];
#pragma unroll
    for (int k = 0; k < kRowAhead; k++) {
      const int i = first + k * kRowThreads;
      if (i >= count) break;
      given[k] = at[i];
      with[k] = *reinterpret_cast<const T*>(src + i * src_stride);
    }
#pragma unroll
    for (int k = 0; k < kRowAhead; k++) {
      if (first + k * kRowThreads >= count) break;
      const int position = checked_position(lists, given[k]);
      if (position >= 0) update_atomically<Add>(row + position, convert<M>(with[k]));
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < size; i += kRowThreads) to[i] = convert<T>(row[i]);
}
