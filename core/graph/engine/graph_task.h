// graph_task.h: one call of backward or grad: its options, what it still waits for, and what it will return.
// Owns no nodes: the roots keep the graph alive. Does not know how tasks are scheduled.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/graph/engine/aggregate.h"
#include "core/graph/node.h"

namespace undertow {

// Is told of each captured gradient when it is done, inside the pass; the pass then keeps none of them.
class CaptureSink {
 public:
  virtual ~CaptureSink() = default;
  // Gradient `index` is done, or is known to be undefined. May be called by any thread of the pass.
  virtual void captured(size_t index, Tensor grad) = 0;
  // A node has finished, and every leaf it completed has been captured. A pass over several threads says so once, at
  // its end.
  virtual void between_nodes() = 0;
};

struct ExecuteOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate_grad = true;  // false: outputs are captured and returned instead
  Aggregation aggregation = Aggregation::AsTheyArrive;
  CaptureSink* sink = nullptr;       // borrowed
  bool one_thread = false;           // the sink asks for between_nodes
  std::span<const Edge> stops = {};  // passes over chosen inputs: what enters these nodes goes no further
};

class GraphTask {
 public:
  explicit GraphTask(ExecuteOptions options);
  ~GraphTask();
  static int running();  // how many passes there are now, on all threads
  GraphTask(const GraphTask&) = delete;
  GraphTask& operator=(const GraphTask&) = delete;

  // The task's own state for a node; see TaskSlot.
  TaskSlot& slot(Node* node) {
    if (UT_LIKELY(node->slot.owner.load(std::memory_order_relaxed) == this)) return node->slot;
    return slow_slot(node);
  }
  bool has_slot(Node* node) const {
    return node->slot.owner.load(std::memory_order_relaxed) == this || shared_slots_.contains(node);
  }
  // True on the first visit. Takes the node's own slot if it is free, else an entry of the map.
  bool claim(Node* node);

  // Counts, for every node reachable from root, the edges that lead into it. `min_topological` prunes below.
  void compute_dependencies(Node* root, uint32_t min_topological);
  // For passes over chosen inputs, after the counting: takes back the edges that leave options.stops, and those that
  // nothing but them leads to.
  void cut_at_stops(uint32_t min_topological);
  // For passes over chosen inputs: which nodes must run, which gradients are captured.
  void plan_for_outputs(Node* root, std::span<const Edge> outputs);
  // Turns a sequential task into a parallel one before anything has arrived (the graph touches other devices).
  void share_slots();
  // Parallel passes: the order in which one thread would run the nodes.
  void compute_ranks(Node* root);

  bool should_run(Node* next) { return !filtered || slot(next).needed || slot(next).captured; }

  const uint64_t id;
  const ExecuteOptions options;
  Node* root = nullptr;  // borrowed from execute
  int reentrant_depth = 0;
  bool filtered = false;  // only some inputs are wanted
  bool parallel = false;  // slots hold shared contributions
  bool other_devices = false;
  uint32_t mode_bits = 0;  // the caller's modes, for nodes that run on other threads
  std::vector<Tensor> captured;
  struct Capture {
    Node* node;
    uint32_t input_nr;
    size_t index;
  };
  std::vector<Capture> captures;
  std::vector<std::function<void()>> final_callbacks;
  std::mutex callbacks_mutex;  // guards final_callbacks: hooks on several threads may queue
  std::unordered_map<Node*, uint64_t> ranks;
  std::vector<Node*> nodes;  // every node claimed, in order of first visit
  WaitingTerms waiting;      // sequential passes that sum at the end

 private:
  TaskSlot& slow_slot(Node* node);
  std::unordered_map<Node*, TaskSlot> shared_slots_;  // nodes that another running task holds
};

// The pass that this thread is running, or null.
extern constinit thread_local GraphTask* current_graph_task __attribute__((tls_model("initial-exec")));
extern constinit thread_local Node* current_node __attribute__((tls_model("initial-exec")));

}  // namespace undertow
