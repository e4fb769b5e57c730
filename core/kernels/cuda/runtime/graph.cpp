// graph.cpp: see graph.h.
#include "core/kernels/cuda/runtime/graph.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/kernels/cuda/driver/driver.h"
#include "core/kernels/cuda/runtime/allocator.h"
#include "core/kernels/cuda/runtime/stream.h"

namespace undertow::core::cuda {

namespace {

struct Capture {
  int device;
  CUstream stream;
  int64_t pool;
  std::unique_ptr<CapturedGraph> graph;
};
std::mutex captures_mutex;  // guards captures
std::vector<Capture>& captures() {
  static auto& list = *new std::vector<Capture>;  // never destroyed: a thread may capture at exit
  return list;
}
std::atomic<int> captures_under_way{0};  // atomic: read without the lock, so that programs without graphs pay nothing

std::unique_ptr<CapturedGraph> take_capture(int device, int64_t pool) {
  std::lock_guard lock(captures_mutex);
  auto& all = captures();
  auto found =
      std::find_if(all.begin(), all.end(), [&](const Capture& c) { return c.device == device && c.pool == pool; });
  if (found == all.end()) return nullptr;
  std::unique_ptr<CapturedGraph> graph = std::move(found->graph);
  all.erase(found);
  captures_under_way--;
  return graph;
}

}  // namespace

CapturedGraph::~CapturedGraph() {
  if (executable) driver().graph_exec_destroy(executable);
}

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
  if (result == kSuccess) {
    std::lock_guard lock(captures_mutex);
    captures().push_back({device, stream, pool, std::make_unique<CapturedGraph>()});
    captures_under_way++;
    return;
  }
  end_pool(device, pool);
  release_pool(device, pool);
  check(result, "cuStreamBeginCapture");
}

CapturedGraph* graph_under_capture(int device) {
  if (captures_under_way.load(std::memory_order_relaxed) == 0) return nullptr;
  DeviceGuard guard(device);
  CUstream stream = current_stream(device);
  if (!is_capturing(stream)) return nullptr;
  std::lock_guard lock(captures_mutex);
  CapturedGraph* newest = nullptr;  // of a stream that joined the capture of another one
  for (const Capture& c : captures()) {
    if (c.device != device) continue;
    newest = c.graph.get();
    if (c.stream == stream) break;
  }
  return newest;
}

std::unique_ptr<CapturedGraph> end_capture(int device, int64_t pool) {
  DeviceGuard guard(device);
  std::unique_ptr<CapturedGraph> captured = take_capture(device, pool);
  CUgraph graph = nullptr;
  CUresult result = driver().stream_end_capture(current_stream(device), &graph);
  end_pool(device, pool);
  if (result == kSuccess) result = driver().graph_instantiate(&captured->executable, graph, 0);
  if (graph) driver().graph_destroy(graph);
  if (result != kSuccess) {
    captured.reset();
    release_pool(device, pool);
  }
  check(result, "the capture of a graph");
  return captured;
}

void abandon_capture(int device, int64_t pool) {
  DeviceGuard guard(device);
  std::unique_ptr<CapturedGraph> captured = take_capture(device, pool);
  CUgraph graph = nullptr;
  driver().stream_end_capture(current_stream(device), &graph);
  if (graph) driver().graph_destroy(graph);
  end_pool(device, pool);
  captured.reset();
  release_pool(device, pool);
}

void launch_graph(CapturedGraph& graph, int device) {
  DeviceGuard guard(device);
  for (const auto& input : graph.inputs) input->before_replay();
  check(driver().graph_launch(graph.executable, current_stream(device)), "cuGraphLaunch");
}

}  // namespace undertow::core::cuda
