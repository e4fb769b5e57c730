// work_shares.h: into how many parts to cut work whose parts prepare the same data, each for itself.
// Knows the number of threads; nothing of what is computed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/parallel.h"

namespace undertow::cpu {

// Note [Own Shares]
// Where many weights meet few outputs, what all tasks read (transformed tiles, copied boxes, columns) is small, but
// what one core has just written is slow to read for another: two threads that prepared halves for each other ran 1.4
// times as fast as one. So every share prepares all of it for itself, and there are no more shares than threads. Here
// alone the cuts depend on the number of threads, and that is sound because nothing is summed across shares: an element
// is computed in the same order whatever share it falls into.
inline int64_t own_shares(int64_t most) {
  return in_parallel_region() ? 1 : std::clamp<int64_t>(most, 1, num_threads());
}

}  // namespace undertow::cpu
