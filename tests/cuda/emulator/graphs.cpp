// graphs.cpp: records the operations of captured streams, and replays them.
#include "graphs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

namespace emulator {
namespace {

// A graph that can be launched; the same nodes, which nobody changes.
struct GraphExec {
  std::shared_ptr<const Graph> graph;
};

Handles<Graph>& graphs() {
  static auto& all = *new Handles<Graph>("graph");
  return all;
}
Handles<GraphExec>& executables() {
  static auto& all = *new Handles<GraphExec>("executable graph");
  return all;
}

std::vector<std::weak_ptr<Capture>>& captures() {
  static auto& all = *new std::vector<std::weak_ptr<Capture>>;
  return all;
}
std::vector<std::shared_ptr<Capture>> captures_in_progress() {
  std::erase_if(captures(), [](const auto& capture) { return capture.expired(); });
  std::vector<std::shared_ptr<Capture>> result;
  for (const auto& capture : captures()) result.push_back(capture.lock());
  return result;
}

thread_local CUstreamCaptureMode interaction = kCaptureGlobal;

void end_capture(const std::shared_ptr<Capture>& capture) {
  for (const auto& member : capture->members) {
    member->capture = nullptr;
    member->capture_tail.clear();
  }
  std::erase_if(captures(), [&](const auto& other) { return other.lock() == capture; });
}

// All that the capture recorded must come before the end of its origin.
bool all_joined(const Capture& capture) {
  std::vector<bool> reached(capture.graph->nodes.size());
  std::vector<size_t> unread = capture.origin->capture_tail;
  while (!unread.empty()) {
    const size_t node = unread.back();
    unread.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    const auto& before = capture.graph->nodes[node].follows;
    unread.insert(unread.end(), before.begin(), before.end());
  }
  return std::all_of(capture.members.begin(), capture.members.end(), [&](const auto& member) {
    return std::all_of(member->capture_tail.begin(), member->capture_tail.end(),
                       [&](size_t node) { return reached[node]; });
  });
}

// See Note [Order Of Operations].
void run_graph(const Graph& graph) {
  std::vector<size_t> missing(graph.nodes.size());
  std::vector<std::vector<size_t>> followers(graph.nodes.size());
  std::set<size_t> ready;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    missing[node] = graph.nodes[node].follows.size();
    for (size_t before : graph.nodes[node].follows) followers[before].push_back(node);
    if (!missing[node]) ready.insert(node);
  }
  while (!ready.empty()) {
    auto next = settings().seed ? std::next(ready.begin(), static_cast<long>(random_number() % ready.size()))
                                : std::prev(ready.end());
    const size_t node = *next;
    ready.erase(next);
    if (settings().trace) say("runs " + graph.nodes[node].operation.name + " of a graph");
    if (graph.nodes[node].operation.run) graph.nodes[node].operation.run();
    for (size_t follower : followers[node]) {
      if (--missing[follower] == 0) ready.insert(follower);
    }
  }
}

CUresult capture_info(CUstream handle, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                      const CUgraphNode** nodes, size_t* count) {
  const auto& stream = stream_of(handle);
  if (!status) fail(CUDA_ERROR_INVALID_VALUE, "no place for the status");
  const auto& capture = stream->capture;
  *status = !capture ? kNotCapturing : capture->invalid ? kCaptureInvalidated : kCapturing;
  if (*status != kCapturing) return CUDA_SUCCESS;
  if (id) *id = capture->id;
  if (graph) *graph = nullptr;  // the emulator shows a graph only when its capture has ended
  if (nodes) *nodes = nullptr;
  if (count) *count = 0;
  return CUDA_SUCCESS;
}

}  // namespace

void capture_operation(Stream& stream, Operation operation) {
  if (stream.capture->invalid) fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture failed before");
  auto& nodes = stream.capture->graph->nodes;
  nodes.push_back({std::move(operation), stream.capture_tail});
  stream.capture_tail = {nodes.size() - 1};
}

void refuse_legacy_stream_in_capture(int device) {
  for (const auto& capture : captures_in_progress()) {
    for (const auto& member : capture->members) {
      if (member->device != device || !member->blocking()) continue;
      capture->invalid = true;
      fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
           "the default stream is used while a stream that it must wait for is captured");
    }
  }
}

void refuse_in_capture(const char* what) {
  if (interaction == kCaptureRelaxed) return;
  for (const auto& capture : captures_in_progress()) {
    const bool own = capture->thread == std::this_thread::get_id() && capture->mode != kCaptureRelaxed;
    const bool of_others = interaction == kCaptureGlobal && capture->mode == kCaptureGlobal;
    if (own || of_others) refuse_captured(capture, what);
  }
}

void refuse_captured(const std::shared_ptr<Capture>& capture, const char* what) {
  if (!capture) return;
  capture->invalid = true;
  fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s is not permitted while a stream is captured", what);
}

void join_capture(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<size_t>& tail) {
  if (stream->legacy) fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the default stream cannot take part in a capture");
  if (stream->capture && stream->capture != capture) {
    fail(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event belongs to another capture than the stream");
  }
  if (!stream->capture) {
    stream->capture = capture;
    capture->members.push_back(stream);
  }
  for (size_t node : tail) {
    auto& own = stream->capture_tail;
    if (std::find(own.begin(), own.end(), node) == own.end()) own.push_back(node);
  }
}

}  // namespace emulator

using namespace emulator;

EMULATOR_API(CUresult) cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return call("cuStreamBeginCapture", Needs::kContext, [&] {
    const auto& stream = stream_of(handle);
    if (stream->legacy) fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the default stream cannot be captured");
    if (stream->capture) fail(CUDA_ERROR_INVALID_VALUE, "the stream is already captured");
    static uint64_t last_id = 0;
    auto capture = std::make_shared<Capture>(Capture{.id = ++last_id,
                                                     .graph = std::make_shared<Graph>(),
                                                     .origin = stream.get(),
                                                     .mode = mode,
                                                     .thread = std::this_thread::get_id(),
                                                     .members = {stream}});
    stream->capture = capture;
    captures().push_back(capture);
  });
}

EMULATOR_API(CUresult) cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return call("cuStreamEndCapture", Needs::kContext, [&] {
    const auto& stream = stream_of(handle);
    const auto capture = stream->capture;
    *graph = nullptr;
    if (!capture) fail(CUDA_ERROR_INVALID_VALUE, "the stream is not captured");
    if (capture->origin != stream.get())
      fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began on another stream");
    if (capture->mode != kCaptureRelaxed && capture->thread != std::this_thread::get_id()) {
      fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture began on another thread");
    }
    const bool joined = all_joined(*capture);
    end_capture(capture);
    if (capture->invalid) fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "a call during the capture was not permitted");
    if (!joined)
      fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream joined the capture, and its end does not wait for it");
    *graph = static_cast<CUgraph>(graphs().add(capture->graph));
  });
}

EMULATOR_API(CUresult) cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return call("cuStreamIsCapturing", Needs::kContext,
              [&] { return capture_info(handle, status, nullptr, nullptr, nullptr, nullptr); });
}
EMULATOR_API(CUresult)
cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                          const CUgraphNode** nodes, size_t* count) {
  return call("cuStreamGetCaptureInfo", Needs::kContext,
              [&] { return capture_info(handle, status, id, graph, nodes, count); });
}
EMULATOR_API(CUresult)
cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                          const CUgraphNode** nodes, const void** edges, size_t* count) {
  if (edges) *edges = nullptr;
  return cuStreamGetCaptureInfo_v2(handle, status, id, graph, nodes, count);
}

EMULATOR_API(CUresult) cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return call("cuThreadExchangeStreamCaptureMode", Needs::kInit, [&] { std::swap(interaction, *mode); });
}

EMULATOR_API(CUresult) cuGraphDestroy(CUgraph graph) {
  return call("cuGraphDestroy", Needs::kInit, [&] { graphs().remove(graph); });
}

EMULATOR_API(CUresult) cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return call("cuGraphGetNodes", Needs::kInit, [&] {
    const Graph& graph = *graphs().get(handle);
    if (nodes) {
      for (size_t i = 0; i < *count; ++i) {
        // Node handles are addresses inside the graph, and null beyond its end.
        nodes[i] =
            i < graph.nodes.size() ? reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(&graph.nodes[i])) : nullptr;
      }
    }
    *count = nodes ? std::min(*count, graph.nodes.size()) : graph.nodes.size();
  });
}

EMULATOR_API(CUresult) cuGraphDebugDotPrint(CUgraph handle, const char* path, unsigned) {
  return call("cuGraphDebugDotPrint", Needs::kInit, [&] {
    const Graph& graph = *graphs().get(handle);
    std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "w"), std::fclose);
    if (!file) fail(CUDA_ERROR_INVALID_VALUE, "cannot write %s: %s", path, std::strerror(errno));
    std::fprintf(file.get(), "digraph {\n");
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      std::fprintf(file.get(), "  n%zu [label=\"%s\"];\n", i, graph.nodes[i].operation.name.c_str());
      for (size_t before : graph.nodes[i].follows) std::fprintf(file.get(), "  n%zu -> n%zu;\n", before, i);
    }
    std::fprintf(file.get(), "}\n");
  });
}

EMULATOR_API(CUresult) cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return call("cuGraphInstantiateWithFlags", Needs::kContext, [&] {
    *executable =
        static_cast<CUgraphExec>(executables().add(std::make_shared<GraphExec>(GraphExec{graphs().get(graph)})));
  });
}

EMULATOR_API(CUresult) cuGraphExecDestroy(CUgraphExec executable) {
  return call("cuGraphExecDestroy", Needs::kInit, [&] { executables().remove(executable); });
}

EMULATOR_API(CUresult) cuGraphLaunch(CUgraphExec executable, CUstream handle) {
  return call("cuGraphLaunch", Needs::kContext, [&] {
    auto graph = executables().get(executable)->graph;
    enqueue(stream_of(handle), {.name = "graph", .run = [graph] { run_graph(*graph); }});
  });
}
