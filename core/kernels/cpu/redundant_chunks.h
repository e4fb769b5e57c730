// redundant_chunks.h: how many chunks to use when every chunk prepares the same data again, or when small ones cost
// more. Knows the number of threads; nothing about what is computed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/parallel.h"

namespace undertow::core::cpu {

// Note [Redundant Preparation]
// With many weights and few outputs, the data that all tasks read (transformed tiles, copied boxes, columns) is small,
// but data that another core has just written is slow to read: two threads that each prepared half for the other ran
// only 1.4 times as fast as one. So every chunk prepares all of it for itself, and there are no more chunks than
// threads. Only in this file does the division depend on the number of threads. That is safe because nothing is summed
// across chunks: an element is computed in the same order in any chunk.
inline int64_t max_redundant_chunks(int64_t most) {
  return in_parallel_region() ? 1 : std::clamp<int64_t>(most, 1, num_threads());
}

// With this many chunks the threads finish at about the same time. For products, boxes of outputs and tiles of queries,
// which are slower if cut finely, so that the number of threads decides; safe for the same reason.
inline int64_t enough_chunks(int64_t for_each_thread) {
  return in_parallel_region() ? 1 : for_each_thread * num_threads();
}

}  // namespace undertow::core::cpu
