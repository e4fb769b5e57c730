// trace_lists.h: the raw lists that the trace writes and the reader reads. Only trace*.cpp use it.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "core/graph/diagnostics/trace.h"
#include "core/graph/node.h"

namespace undertow::core::trace {

struct RawEvent {
  uint64_t time_ns;  // steady clock
  const Node* node;
  uint64_t other;
  uint64_t memory;
  uint32_t pass;  // id of the graph task, whose upper half no program reaches; 0: none
  int32_t slot, dependencies;
  TraceEvent event;
};

// A list that never moves its elements. A vector would copy them as it grows, and touch twice the memory.
class EventList {
 public:
  static constexpr size_t kChunk = 2048;
  void push(const RawEvent& e) {
    if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique_for_overwrite<RawEvent[]>(kChunk));
    chunks_.back()[size_++ % kChunk] = e;
  }
  size_t size() const { return size_; }
  // The chunks, for a reader that goes on without the lock: an element does not change once it is here.
  std::vector<const RawEvent*> chunks() const {
    std::vector<const RawEvent*> out;
    for (const auto& chunk : chunks_) out.push_back(chunk.get());
    return out;
  }

 private:
  std::vector<std::unique_ptr<RawEvent[]>> chunks_;
  size_t size_ = 0;
};

struct Lane {        // the events of one thread
  std::mutex mutex;  // guards events and dropped; taken by its thread for each event, by others only to read
  EventList events;
  uint64_t thread;
  bool dropped = false;
};

// A node as it was when a pass began. Its shapes, edges and saved tensors are in RawPass::data, from `data` on:
// number of inputs; dtype, dimensions and sizes of each; number of edges; node and input number of each; number of
// saved tensors; name, dtype, dimensions, sizes, bytes and storage of each.
struct RawNode {
  const Node* node;
  const Node* made;  // the node that its operation recorded: the inner node of CopySlices
  uint64_t sequence, made_sequence;
  uint64_t leaf = 0;  // number of the leaf, for accumulators
  uint32_t topological;
  bool is_function;
  const std::string* name;  // in Lists::names
  Ref<NodeOrigin> origin;
  size_t data;
};
struct RawPass {
  uint64_t id, outer;  // outer: the pass that this one runs in, or 0
  uint64_t thread;
  int depth;
  bool keep_graph, create_graph, accumulates, parallel;
  const Node* root;
  std::vector<std::pair<const Node*, uint32_t>> captures;
  std::vector<RawNode> nodes;
  std::vector<uint64_t> data;
  std::vector<std::pair<const Node*, HookFunction>> hooks;
  std::string error;
};

struct Lists {
  std::mutex mutex;  // guards all members; never held together with a lane's, except in this order
  std::vector<std::shared_ptr<Lane>> lanes;
  std::deque<RawPass> passes;
  struct Start {
    std::vector<size_t> events;  // of each lane
    size_t passes;
  };
  std::map<int, Start> recordings;  // those that run, by number
  int last_recording = 0;
  bool lines_before = false;              // lines were recorded before the first of them
  std::unordered_set<std::string> names;  // of nodes; kept, there are few
};
Lists& lists();

}  // namespace undertow::core::trace
