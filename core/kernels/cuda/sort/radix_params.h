// radix_params.h: one pass of the radix sort in radix.cuh. Included by the host and the device; the includer has
// defined int64_t.
#pragma once

namespace undertow {

inline constexpr int kRadixEach = 16;  // elements of a thread

struct RadixPass {
  int64_t n;
  uint32_t row_length;  // of the rows that are sorted each by itself, or n
  int shift;            // of the digit
  int number;           // of this pass, from 0
  bool descending;
};

// What a block tells the later ones of a pass, one word per digit and tile: a count, and above it what the count is.
// Words of earlier passes are lower than all of this pass, so nothing must be cleared between passes.
inline constexpr int kCountBits = 40;

}  // namespace undertow
