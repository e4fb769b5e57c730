// window_table.h: the windows of several small planes as one table of positions. Knows geometry only.
//
// Note [Tables Of Windows]
// The grid kernels compute a row of windows at once, which is slow if rows have only a few windows, as in the last
// layers of a network. There, all windows of a plane, or of several small planes, are computed at once: a table has the
// position of every tap of every window, and each tap is one gather. Windows shorter than the longest repeat their
// first element, which changes no maximum; sums use the table only if all windows have the same size.
#pragma once
#include <vector>

#include "core/kernels/cpu/pool/pool_loops.h"
#include "core/kernels/pool.h"

namespace undertow::core::cpu {

struct WindowTable {
  std::vector<int32_t> at;
  int64_t taps = 0;
  int64_t planes = 0;  // per group
  bool alike = true;   // every window has all taps

  PoolTable view() const { return {at.data(), taps, taps ? static_cast<int64_t>(at.size()) / taps : 0}; }
};

// Has no planes if a table would be too large, if a window has no element, or if rows of windows are long enough for
// the grid kernels.
WindowTable table_of(const Pooling& p);

}  // namespace undertow::core::cpu
