// allocator.h: memory for tensors too large for a pooled block; 64-byte aligned, cached for reuse.
#pragma once
#include <cstddef>

namespace undertow::core {

void* allocate_bytes(size_t nbytes);
void deallocate_bytes(void* p, size_t nbytes);

struct AllocatorStats {
  size_t in_use = 0;       // bytes allocated, rounded up to their size class
  size_t peak_in_use = 0;  // since the start or the last reset_peak
  size_t cached = 0;       // bytes kept for reuse, also by threads for themselves
};
AllocatorStats allocator_stats();
void reset_peak_stats();
// Returns cached blocks to the system: all but those that other threads keep for themselves, about 3 MB each at most.
void empty_cache();

}  // namespace undertow::core
