// graph.h: work of a stream captured into a graph, which is replayed by one call.
#pragma once
#include "core/kernels/cuda/driver/driver_types.h"

namespace undertow::core::cuda {

// The number of a new private pool of memory. Graphs may share one if they never run at the same time.
int64_t new_pool();
// Captures the device's current stream, which must not be the default one. `mode`: see CudaControl.
void begin_capture(int device, int64_t pool, int mode);
// Ends it; the graph is ready to be launched. If the capture failed, raises, and the stream can be used again.
CUgraphExec end_capture(int device, int64_t pool);
// Ends a capture whose program raised; forgets what was captured.
void abandon_capture(int device, int64_t pool);
void launch_graph(CUgraphExec graph, int device);  // on the current stream

}  // namespace undertow::core::cuda
