// pinned_memory.h: memory of the host that devices copy from and to directly, without staging; cached like the
// device's.
#pragma once
#include "core/kernels/cuda/driver/driver_types.h"
#include "core/kernels/cuda_control.h"

namespace undertow::core::cuda {

void* allocate_pinned(size_t nbytes);
// The block is given out again when the copies that use it are done.
void deallocate_pinned(void* p);
// Is the address inside memory that was allocated here?
bool is_pinned(const void* p);
// A copy on this stream, which may still be running, uses the memory at `p`.
void note_pinned_use(const void* p, int device, CUstream stream);
CudaFigures pinned_stats();

}  // namespace undertow::core::cuda
