// trace_reader.h: reads what the trace has recorded: numbers the nodes, sorts the events by time, names every thing
// once. See Note [Recording A Pass].
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/diagnostics/trace.h"
#include "core/tensor/tensor.h"

namespace undertow::core::trace {

struct Shape {
  bool known = false;
  DType dtype = DType::Float32;
  Dims sizes;
};
struct SavedTensorInfo {
  const char* name;
  Shape shape;
  uint64_t bytes;
  int64_t storage;  // a number that is the same for tensors of this pass that share memory; -1 if unknown
};
struct NodeInfo {
  const std::string* name;  // lives as long as the process
  Ref<NodeOrigin> origin;   // if the node remembers its line
  bool is_accumulate, is_function;
  uint64_t sequence;
  uint64_t leaf;                      // provenance::number_of the leaf, or 0
  int32_t place = -1, module = -1;    // where the operation was called, if it was recorded
  int64_t time_ns = -1, thread = -1;  // when, and by which thread
  std::vector<Shape> inputs;
  std::vector<SavedTensorInfo> saved;
};
struct EdgeInfo {
  int32_t from, from_slot, to, to_slot;
};
struct HookInfo {
  int32_t node;
  HookFunction function;
};
struct PassInfo {
  uint64_t id, outer, thread;
  int depth;
  bool keep_graph, create_graph, accumulates;
  int32_t root;
  std::vector<std::pair<int32_t, uint32_t>> captures;
  std::string error;
};
struct EventInfo {
  uint64_t time_ns, memory;
  uint32_t pass, thread;  // pass: id of the graph task, or 0
  int32_t node;           // -1 for none
  int32_t other;          // the producer's number, a length, the number of a hook; -1 for none
  int32_t slot, dependencies;
  TraceEvent event;
};
// What is new since the last read. Node numbers count from the start of the recording.
struct Batch {
  std::vector<NodeInfo> nodes;
  std::vector<EdgeInfo> edges;
  std::vector<HookInfo> hooks;  // of the nodes of each pass, when it began
  std::vector<PassInfo> passes;
  std::vector<EventInfo> events;
  std::vector<std::pair<uint64_t, std::string>> errors;  // pass, message
  bool dropped = false;                                  // some events were dropped: there were too many
  uint64_t unused_nodes = 0;                             // at the end: recorded operations whose nodes were in no pass
};
struct ReadOptions {
  bool end = false;     // also ends the recording
  bool forward = true;  // with the events of recorded operations
};
// Reads a recording. An empty batch if it does not run.
Batch read(int recording, ReadOptions options);
// The number in a recording of a node that is in a pass that has been read; -1 if unknown.
int32_t number_in_pass(int recording, uint64_t pass, const Node* node);

}  // namespace undertow::core::trace
