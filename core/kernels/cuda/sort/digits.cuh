// digits.cuh: what radix sorts share: the digits of keys, and the stable rank of each element of a block by its digit.
#pragma once
#include "device/block_scan.cuh"
#include "sort/keys.cuh"

namespace undertow {

inline constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;  // and threads of a block: one for each digit
inline constexpr int kWarps = kDigits / 32;

// The lanes of the warp whose digit is the same.
UT_DEVICE unsigned lanes_with(int digit) {
#ifdef UNDERTOW_EMULATED
  return __match_any_sync(0xffffffffu, digit);
#else
  unsigned same = 0xffffffffu;  // a vote per bit takes less time than __match_any_sync
#pragma unroll
  for (int bit = 0; bit < kDigitBits; bit++) {
    const bool one = digit >> bit & 1;
    const unsigned votes = __ballot_sync(0xffffffffu, one);
    same &= one ? votes : ~votes;
  }
  return same;
#endif
}

// Counts of digits, shared by a block.
struct DigitCounts {
  uint32_t of_warp[kWarps][kDigits];
};

// A digit and a place below it: one register for both.
UT_DEVICE uint32_t with_digit(int digit, uint32_t place) { return static_cast<uint32_t>(digit) << 16 | place; }

// For each element its digit, digit_of(k), and its place among those of its warp with the same digit. Lane l of a warp
// has the elements l, l + 32, ... of the warp's part: element k of a thread comes before element k + 1 of every thread.
template <int each, class F>
UT_DEVICE void rank_in_warp(DigitCounts& counts, F&& digit_of, uint32_t (&rank)[each]) {
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int k = 0; k < kWarps; k++) counts.of_warp[k][threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < each; k++) {
    const int digit = digit_of(k);
    const unsigned same = lanes_with(digit);
    const int leader = __ffs(same) - 1;
    uint32_t before = 0;
    if (lane == leader) {
      before = counts.of_warp[warp][digit];
      counts.of_warp[warp][digit] = before + __popc(same);
    }
    before = __shfl_sync(0xffffffffu, before, leader);
    rank[k] = with_digit(digit, before + __popc(same & ((1u << lane) - 1)));
    __syncwarp();
  }
  __syncthreads();
}
// After rank_in_warp and place_digits: the element's place in the block.
UT_DEVICE uint32_t place_in_block(const DigitCounts& counts, uint32_t rank) {
  return counts.of_warp[threadIdx.x >> 5][rank >> 16] + (rank & 0xffff);
}

// After rank_in_warp: the counts become the place in the block of the first element of each warp and digit. Returns how
// many elements of the block have this thread's digit; `first`: the place of the first of them.
UT_DEVICE uint32_t place_digits(DigitCounts& counts, uint32_t& first) {
  uint32_t own = 0;
  for (int k = 0; k < kWarps; k++) {
    const uint32_t of_warp = counts.of_warp[k][threadIdx.x];
    counts.of_warp[k][threadIdx.x] = own;
    own += of_warp;
  }
  uint32_t all;
  first = sum_before(own, all);
  for (int k = 0; k < kWarps; k++) counts.of_warp[k][threadIdx.x] += first;
  return own;
}

}  // namespace undertow
