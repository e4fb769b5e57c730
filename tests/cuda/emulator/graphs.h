// graphs.h: the capture of streams, and the graphs that it makes.
#pragma once
#include <thread>

#include "streams.h"

namespace emulator {

struct GraphNode {
  Operation operation;
  std::vector<size_t> follows;  // earlier nodes of the same graph
};

struct Graph {
  std::vector<GraphNode> nodes = {};
};

struct Capture {
  uint64_t id;
  std::shared_ptr<Graph> graph;
  Stream* origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  std::vector<std::shared_ptr<Stream>> members;  // the origin, and streams that waited for an event of a member
  bool invalid = false;
};

void capture_operation(Stream& stream, Operation operation);
// The default stream would wait for the captured streams, which is not possible.
void refuse_legacy_stream_in_capture(int device);
// For a call that a capture in progress forbids (allocation, synchronization): breaks the capture and fails.
void refuse_in_capture(const char* what);
// For a call about this stream or event that a capture of it forbids.
void refuse_captured(const std::shared_ptr<Capture>& capture, const char* what);
// A stream joins the capture of an event that it waits for.
void join_capture(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<size_t>& tail);

}  // namespace emulator
