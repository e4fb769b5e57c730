// window_table.h: the windows of several small planes as one table of places. Knows geometry only.
//
// Note [Tables Of Windows]
// The kernels of a grid do a row of windows at once, which is slow where rows are a few windows long, as in the last
// layers of a network. There the windows of a plane, or of several planes when it has few, are done at once: a table
// has the place of every tap of every window, and a tap is one gathering of elements. Windows shorter than the longest
// name their first element again, which changes no maximum; sums take the table where all windows are alike.
#pragma once
#include <vector>

#include "core/kernels/cpu/pool/pool_loops.h"
#include "core/kernels/pool.h"

namespace undertow::cpu {

struct WindowTable {
  std::vector<int32_t> at;
  int64_t taps = 0;
  int64_t planes = 0;  // in one group
  bool alike = true;   // every window has all taps

  PoolTable view() const { return {at.data(), taps, taps ? static_cast<int64_t>(at.size()) / taps : 0}; }
};

// Without planes where a table would be too large, or rows of windows are long enough for the kernels of a grid.
WindowTable table_of(const Pooling& p);

}  // namespace undertow::cpu
