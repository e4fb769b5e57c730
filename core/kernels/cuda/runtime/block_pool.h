// block_pool.h: blocks of device memory and the sets of free ones. Makes no decision and calls no driver.
#pragma once
#include <set>
#include <vector>

#include "core/kernels/cuda/driver/driver_types.h"

namespace undertow::core::cuda {

struct BlockPool;

// A piece of a segment, which is what the driver gave. Pieces of one segment form a list.
struct Block {
  char* address = nullptr;
  size_t bytes = 0;
  size_t requested = 0;  // what the caller asked for, if allocated
  CUstream stream = nullptr;
  BlockPool* pool = nullptr;
  bool allocated = false;
  bool recent = false;  // free, and kept aside for the next request of this size
  int events = 0;       // not reached yet: the block waits for them before it is free
  Block *before = nullptr, *behind = nullptr;
  Block* next_recent = nullptr;
  std::vector<CUstream> used_by;  // other streams that the program named (record_stream)

  bool is_split() const { return before || behind; }
};

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    if (a->stream != b->stream) return a->stream < b->stream;
    if (a->bytes != b->bytes) return a->bytes < b->bytes;
    return a->address < b->address;
  }
};

// Small requests and large ones have pools of their own, so that small blocks do not break up large segments.
struct BlockPool {
  bool small = false;
  int64_t owner = 0;  // the number of the private pool, 0 for the common one
  std::set<Block*, BySize> free;
};

}  // namespace undertow::core::cuda
