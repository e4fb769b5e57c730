// radix.cuh: a stable radix sort in digits of 8 bits from the least significant one, with one pass over memory per
// digit (Adinarayanan and Merrill's "onesweep", 2022). One kernel counts the digits of all passes at once. Then a pass
// is one kernel: a block ranks the elements of its tile, learns from the blocks before it where its elements go, and
// writes them there in order. See Note [Looking Back].
#pragma once
#include "sort/digits.cuh"
#include "sort/radix_params.h"

namespace undertow {

inline constexpr int kRadixTile = kDigits * kRadixEach;
inline constexpr int kCountParts = 2;  // copies of the shared counts: neighbouring lanes often have equal digits
inline constexpr int kWordsAtOnce = 8;

template <class T>
UT_DEVICE int digit_at(T element, int shift, bool descending) {
  return static_cast<int>(key_of(element, descending) >> shift) & (kDigits - 1);
}

UT_DEVICE int row_digit(uint32_t position, const RadixPass& pass) {
  return static_cast<int>(position / pass.row_length >> pass.shift) & (kDigits - 1);
}

UT_DEVICE uint64_t tile_word(int pass, bool up_to_here, uint64_t count) {
  return static_cast<uint64_t>(2 * pass + 1 + up_to_here) << kCountBits | count;
}

// How many elements with this thread's digit the tiles before this one have. words: of this digit, kDigits apart.
UT_DEVICE uint64_t count_before(const volatile uint64_t* words, int64_t tile, int pass) {
  constexpr uint64_t count_mask = (uint64_t(1) << kCountBits) - 1;
  const uint64_t of_tile = static_cast<uint64_t>(2 * pass + 1);
  uint64_t sum = 0;
  bool found = false;
  for (int64_t at = tile - 1; !found;) {
    uint64_t word[kWordsAtOnce];
#pragma unroll
    for (int k = 0; k < kWordsAtOnce; k++) word[k] = words[greatest_of<int64_t>(at - k, 0) * kDigits];
    bool waits = false;
#pragma unroll
    for (int k = 0; k < kWordsAtOnce; k++) {
      const uint64_t kind = word[k] >> kCountBits;
      waits |= kind < of_tile;
      if (waits || found) continue;
      sum += word[k] & count_mask;
      found = kind > of_tile;
      at--;
    }
  }
  return sum;
}

}  // namespace undertow

// counts[pass][digit] of the `passes` digits from `first_bit` on.
template <class T>
__global__ void radix_count(uint32_t* counts, const T* in, int64_t n, int first_bit, int passes, bool descending) {
  __shared__ uint32_t own[sizeof(KeyOf<T>)][kDigits][kCountParts];
  for (int p = 0; p < passes; p++)
    for (int k = 0; k < kCountParts; k++) own[p][threadIdx.x][k] = 0;
  __syncthreads();
  const int part = threadIdx.x % kCountParts;
  constexpr int at_once = 4;  // loads under way
  for (int64_t i = thread_number(); i < n; i += at_once * thread_count()) {
    T element[at_once];
#pragma unroll
    for (int k = 0; k < at_once; k++)
      if (i + k * thread_count() < n) element[k] = in[i + k * thread_count()];
#pragma unroll
    for (int k = 0; k < at_once; k++) {
      if (i + k * thread_count() >= n) continue;
      const KeyOf<T> key = key_of(element[k], descending) >> first_bit;
      for (int p = 0; p < passes; p++)
        atomicAdd(&own[p][static_cast<int>(key >> (p * kDigitBits)) & (kDigits - 1)][part], 1u);
    }
  }
  __syncthreads();
  for (int p = 0; p < passes; p++) {
    uint32_t sum = 0;
    for (int k = 0; k < kCountParts; k++) sum += own[p][threadIdx.x][k];
    if (sum) atomicAdd(&counts[p * kDigits + threadIdx.x], sum);
  }
}

// counts[pass][digit] of the digits of row numbers: `length` elements for each of `rows` rows. A block per pass.
template <int = 0>
__global__ void radix_count_rows(uint32_t* counts, uint32_t rows, uint32_t length) {
  const int shift = blockIdx.x * kDigitBits;
  const uint64_t digit = threadIdx.x, one = uint64_t(1) << shift, cycle = one * kDigits;
  const uint64_t whole = rows / cycle * one, rest = rows % cycle, begin = digit * one;
  const uint64_t partial = rest <= begin ? 0 : least_of(rest - begin, one);
  counts[blockIdx.x * kDigits + threadIdx.x] = static_cast<uint32_t>((whole + partial) * length);
}

// One pass. Null: `positions` are 0, 1, 2, ...; outputs that are not wanted. `indices`: positions in their rows.
// counts: of this pass; ticket: 0; words: kDigits per tile. by_row: the digit is one of the row's number.
template <class T, bool by_row>
__global__ void __launch_bounds__(kDigits, sizeof(T) == 8 ? 2 : 3)
    radix_sweep(T* to, uint32_t* positions_to, int64_t* indices, const T* in, const uint32_t* positions,
                const uint32_t* counts, uint32_t* ticket, uint64_t* words, RadixPass pass) {
  __shared__ DigitCounts ranks;
  __shared__ int64_t start[kDigits];  // where elements with a digit go, less their place in the tile
  alignas(16) __shared__ char tile_memory[kRadixTile * (sizeof(T) < 4 ? 4 : sizeof(T))];
  __shared__ uint32_t own_tile;
  T* const elements = reinterpret_cast<T*>(tile_memory);
  uint32_t* const places = reinterpret_cast<uint32_t*>(tile_memory);
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  if (thread == 0) own_tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const int64_t tile = own_tile, first = tile * kRadixTile;
  const int count = static_cast<int>(least_of<int64_t>(pass.n - first, kRadixTile));
  const int mine = warp * kRadixEach * 32 + lane;  // this thread's elements are 32 apart

  T element[kRadixEach];
  uint32_t position[kRadixEach], rank[kRadixEach];
  auto load_elements = [&] {
#pragma unroll
    for (int k = 0; k < kRadixEach; k++)
      if (mine + k * 32 < count) element[k] = in[first + mine + k * 32];
  };
  auto load_positions = [&] {
#pragma unroll
    for (int k = 0; k < kRadixEach; k++)
      if (mine + k * 32 < count)
        position[k] = positions ? positions[first + mine + k * 32] : static_cast<uint32_t>(first + mine + k * 32);
  };
  if constexpr (by_row)
    load_positions();
  else
    load_elements();
  // What is missing in the last tile has the last digit, so it comes last, and is not written.
  rank_in_warp(
      ranks,
      [&](int k) {
        if (mine + k * 32 >= count) return kDigits - 1;
        if constexpr (by_row)
          return row_digit(position[k], pass);
        else
          return digit_at(element[k], pass.shift, pass.descending);
      },
      rank);
  uint32_t place;
  const uint32_t own = place_digits(ranks, place);
  volatile uint64_t* const my_words = words + thread;
  uint64_t before = 0;
  if (tile == 0) {
    uint32_t all;
    before = sum_before(counts[thread], all);
    my_words[0] = tile_word(pass.number, true, before + own);
  } else {
    my_words[tile * kDigits] = tile_word(pass.number, false, own);
    before = count_before(my_words, tile, pass.number);
    my_words[tile * kDigits] = tile_word(pass.number, true, before + own);
  }
  start[thread] = static_cast<int64_t>(before) - place;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRadixEach; k++) rank[k] = place_in_block(ranks, rank[k]);

  uint8_t digit[kRadixEach];  // of the element at thread + k * kDigits in the order of the tile
  auto write_elements = [&] {
#pragma unroll
    for (int k = 0; k < kRadixEach; k++) elements[rank[k]] = element[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kRadixEach; k++) {
      const int at = thread + k * kDigits;
      if (!by_row) digit[k] = static_cast<uint8_t>(digit_at(elements[at], pass.shift, pass.descending));
      if (to && at < count) to[start[digit[k]] + at] = elements[at];
    }
    __syncthreads();
  };
  auto write_positions = [&] {
#pragma unroll
    for (int k = 0; k < kRadixEach; k++) places[rank[k]] = position[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kRadixEach; k++) {
      const int at = thread + k * kDigits;
      const uint32_t p = places[at];
      if (by_row) digit[k] = static_cast<uint8_t>(row_digit(p, pass));
      if (at >= count) continue;
      if (positions_to) positions_to[start[digit[k]] + at] = p;
      if (indices) indices[start[digit[k]] + at] = p % pass.row_length;
    }
    __syncthreads();
  };
  if constexpr (by_row) {
    write_positions();
    if (!to) return;
    load_elements();
    write_elements();
  } else {
    write_elements();
    load_positions();
    write_positions();
  }
}
