// graph.h: work of a stream captured into a graph, which is replayed by one call.
#pragma once
#include <memory>
#include <vector>

#include "core/kernels/cuda/driver/driver_types.h"

namespace undertow::core::cuda {

// What must be set on the device before each replay.
class ReplayInput {
 public:
  virtual ~ReplayInput() = default;
  // Issues the work that sets it to the current stream.
  virtual void before_replay() = 0;
};

struct CapturedGraph {
  CUgraphExec executable = nullptr;
  std::vector<std::unique_ptr<ReplayInput>> inputs;  // added while it is captured

  CapturedGraph() = default;
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
};

// The number of a new private pool of memory. Graphs may share one if they never run at the same time.
int64_t new_pool();
// Captures the device's current stream, which must not be the default one. `mode`: see CudaControl.
void begin_capture(int device, int64_t pool, int mode);
// The graph that the device's current stream is being captured into, or null.
CapturedGraph* graph_under_capture(int device);
// Ends the capture; the graph is ready to be launched. If it failed, raises, and the stream can be used again.
std::unique_ptr<CapturedGraph> end_capture(int device, int64_t pool);
// Ends a capture whose program raised; forgets what was captured.
void abandon_capture(int device, int64_t pool);
void launch_graph(CapturedGraph& graph, int device);  // on the current stream

}  // namespace undertow::core::cuda
