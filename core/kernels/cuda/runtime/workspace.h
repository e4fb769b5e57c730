// workspace.h: device memory for the length of a scope, for work on the current stream.
#pragma once
#include "core/kernels/cuda/runtime/allocator.h"

namespace undertow::core::cuda {

// The block returns to the allocator at the end of the scope, before the work that uses it has run: later work on the
// same stream, which may get the block, runs after it.
class Workspace {
 public:
  Workspace(int device, size_t bytes) : device_(device), data_(static_cast<char*>(allocate(bytes, device))) {}
  ~Workspace() { deallocate(data_, device_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  char* data() const { return data_; }  // null for 0 bytes

 private:
  int device_;
  char* data_;
};

}  // namespace undertow::core::cuda
