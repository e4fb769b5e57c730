// lines.cuh: copies the lines of a matrix to other distances from each other.
#pragma once
#include "device/loop_nest.cuh"
#include "device/packs.cuh"
#include "matmul/lines_params.h"

namespace undertow {

using Words = Pack<uint32_t, 4>;

UT_DEVICE int bytes_after_words(const void* p) { return static_cast<int>(reinterpret_cast<uintptr_t>(p) & 15); }
UT_DEVICE Words words_at_or_before(const void* p) {
  return *reinterpret_cast<const Words*>(static_cast<const char*>(p) - bytes_after_words(p));
}

// 16 of 32 bytes, from an even number of bytes on.
UT_DEVICE Words shifted(const Words& low, const Words& high, int bytes) {
  uint32_t w[8];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    w[i] = low.at[i];
    w[4 + i] = high.at[i];
  }
#pragma unroll
  for (int i = 0; i < 6; i++) w[i] = bytes & 8 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; i++) w[i] = bytes & 4 ? w[i + 1] : w[i];
#pragma unroll
  for (int i = 0; i < 4; i++) w[i] = bytes & 2 ? w[i] >> 16 | w[i + 1] << 16 : w[i];
  return {{w[0], w[1], w[2], w[3]}};
}

}  // namespace undertow

// T: any type of the elements' width. Lines begin at any element on both sides. A thread writes 16 aligned bytes at a
// time, from the two aligned packs that contain them: each has a byte of the line, so that it can be read.
template <class T>
__global__ void __launch_bounds__(kLineThreads, 4) copy_lines(T* to, const T* from, CopiedLines p) {
  constexpr int width = kPackOf<T>;
  uint32_t line[kLinePacks];
  int64_t first[kLinePacks];  // of the pack's elements in the line; may be negative
  Words low[kLinePacks], high[kLinePacks];
  const uint32_t start = blockIdx.x * (kLineThreads * kLinePacks) + threadIdx.x;
  auto is_whole = [&](int k) { return first[k] >= 0 && first[k] + width <= p.length && line[k] < p.lines; };
#pragma unroll
  for (int k = 0; k < kLinePacks; k++) {
    const uint32_t pack = start + k * kLineThreads;
    line[k] = divide_by(pack, p.packs_of_line);
    first[k] = static_cast<int64_t>(pack - line[k] * p.packs_of_line.value) * width -
               bytes_after_words(to + line[k] * p.to_distance) / static_cast<int>(sizeof(T));
    if (pack >= p.packs) first[k] = p.filled;  // none
    if (!is_whole(k)) continue;
    const T* source = from + line[k] * p.from_distance + first[k];
    low[k] = words_at_or_before(source);
    high[k] = words_at_or_before(source + width - 1);
  }
#pragma unroll
  for (int k = 0; k < kLinePacks; k++) {
    const T* source = from + line[k] * p.from_distance;
    T* result = to + line[k] * p.to_distance;
    if (is_whole(k)) {
      *reinterpret_cast<Words*>(result + first[k]) = shifted(low[k], high[k], bytes_after_words(source + first[k]));
      continue;
    }
#pragma unroll 1
    for (int64_t i = first[k] < 0 ? 0 : first[k]; i < first[k] + width && i < p.filled; i++)
      result[i] = i < p.length && line[k] < p.lines ? source[i] : T(0);
  }
}
