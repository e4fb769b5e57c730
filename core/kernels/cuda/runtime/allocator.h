// allocator.h: device memory for tensors, cached: freed blocks are kept and given out again without asking the driver.
//
// Note [Caching Device Memory]
// The driver gives segments; requests get blocks of them. Sizes are rounded up to 512 bytes. Requests of up to 1 MiB
// come from segments of 2 MiB; larger ones from segments of 20 MiB, or of their own size above 10 MiB. A block is split
// when the rest is worth keeping, and joined with free neighbours when it is freed.
//
// A freed block is given out at once, but only for work on the stream it was allocated for: that stream runs in order,
// so the new work starts after the old. A program that uses a block on another stream says so (record_stream); then the
// block is free when the events recorded on those streams at its deallocation have been reached.
//
// While a stream is being captured into a graph, its memory comes from a private pool, whose blocks are not given out
// to anything else until the graph is destroyed: a replay writes to the same addresses.
//
// Small blocks are kept aside for requests of the same size when they are freed, and become free for others when a new
// segment would be needed.
//
// When the driver has no more memory, free segments are returned to it and the request is tried again.
#pragma once
#include <cstddef>
#include <vector>

#include "core/kernels/cuda/driver/driver_types.h"
#include "core/kernels/cuda_control.h"

namespace undertow::core::cuda {

// Memory for work on the device's current stream; null for 0 bytes. Raises with the figures if there is not enough.
void* allocate(size_t nbytes, int device);
void* allocate_on_stream(size_t nbytes, int device, CUstream stream);
// The block may be given out again at once, to the stream it was allocated on.
void deallocate(void* p, int device);
// The memory at `p` (anywhere inside a block) is used on this stream too.
void record_stream(const void* p, int device, CUstream stream);
// Gives cached blocks back to the driver.
void empty_cache();

// The part of the device's memory that we may use; 1 at first.
void set_memory_fraction(int device, double fraction);
double memory_fraction(int device);

CudaFigures memory_stats(int device);
void reset_peak_stats(int device);
void reset_accumulated_stats(int device);
std::vector<CudaFigures> memory_snapshot(int device);

// Between the two calls, memory for captured streams of the device comes from the private pool of this number.
void begin_pool(int device, int64_t pool);
void end_pool(int device, int64_t pool);
// One user of the pool (a graph) is gone; after the last, its memory can be returned to the driver.
void release_pool(int device, int64_t pool);

}  // namespace undertow::core::cuda
