// radix_params.h: one pass of the radix sort in radix.cuh. Included by the host and the device; the includer has
// defined int64_t.
//
// Note [Looking Back]
// Blocks take tiles in the order in which they start, so the tiles before a block's own are done or being worked on: it
// can wait for them. A block publishes for each digit the count of its tile, then, once known, the count of all tiles
// up to its own. A thread sums the counts of the tiles before until it finds a sum that begins at the first tile. A
// word holds count and kind, so it is read and written whole, and needs no fence. Several words are read at once: when
// many tiles begin together, the time is that of one read after another.
#pragma once

namespace undertow {

inline constexpr int kRadixEach = 16;  // elements of a thread

struct RadixPass {
  int64_t n;
  uint32_t row_length;  // of the rows that are sorted separately, or n
  int shift;            // of the digit
  int number;           // of this pass, from 0
  bool descending;
};

// What a block tells the later ones of a pass, one word per digit and tile: a count, and above it what the count is.
// Words of earlier passes are lower than all of this pass, so nothing must be cleared between passes.
inline constexpr int kCountBits = 40;

}  // namespace undertow
