// allocator.h: memory for tensors larger than a pooled block, 64-byte aligned, kept for reuse.
#pragma once
#include <cstddef>

namespace undertow {

void* allocate_bytes(size_t nbytes);
void deallocate_bytes(void* p, size_t nbytes);

struct AllocatorStats {
  size_t in_use = 0;       // bytes handed out, rounded to their class
  size_t peak_in_use = 0;  // since start or reset_peak
  size_t cached = 0;       // bytes kept for reuse
};
AllocatorStats allocator_stats();
void reset_peak_stats();
// Returns every cached block to the system.
void empty_cache();

}  // namespace undertow
