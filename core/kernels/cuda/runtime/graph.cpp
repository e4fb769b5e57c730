// graph.cpp: see graph.h.
#include "core/kernels/cuda/runtime/graph.h"

#include <atomic>

#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/allocator.h"
#include "core/kernels/cuda/runtime/stream.h"

namespace undertow::core::cuda {

int64_t new_pool() {
  static std::atomic<int64_t> last{0};  // atomic: numbers are handed out to any thread
  return ++last;
}

void begin_capture(int device, int64_t pool, int mode) {
  CUstream stream = current_stream(device);
  UT_CHECK(stream,
           "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay "
           "them on the default stream.)");
  DeviceGuard guard(device);
  begin_pool(device, pool);
  CUresult result = driver().stream_begin_capture(stream, mode);
  if (result == kSuccess) return;
  end_pool(device, pool);
  release_pool(device, pool);
  check(result, "cuStreamBeginCapture");
}

CUgraphExec end_capture(int device, int64_t pool) {
  DeviceGuard guard(device);
  CUgraph graph = nullptr;
  CUresult result = driver().stream_end_capture(current_stream(device), &graph);
  end_pool(device, pool);
  CUgraphExec executable = nullptr;
  if (result == kSuccess) result = driver().graph_instantiate(&executable, graph, 0);
  if (graph) driver().graph_destroy(graph);
  if (result != kSuccess) release_pool(device, pool);
  check(result, "the capture of a graph");
  return executable;
}

void abandon_capture(int device, int64_t pool) {
  DeviceGuard guard(device);
  CUgraph graph = nullptr;
  driver().stream_end_capture(current_stream(device), &graph);
  if (graph) driver().graph_destroy(graph);
  end_pool(device, pool);
  release_pool(device, pool);
}

void launch_graph(CUgraphExec graph, int device) {
  DeviceGuard guard(device);
  check(driver().graph_launch(graph, current_stream(device)), "cuGraphLaunch");
}

}  // namespace undertow::core::cuda
