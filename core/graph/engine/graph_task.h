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

namespace undertow::core {

// Receives each captured gradient during the pass, as soon as it is complete; the pass then stores none of them.
class CaptureSink {
 public:
  virtual ~CaptureSink() = default;
  // Gradient `index` is complete, or known to be undefined. May be called by any thread of the pass.
  virtual void captured(size_t index, Tensor grad) = 0;
  // A node has finished, and every leaf it completed has been captured. A parallel pass calls this once, at its end.
  virtual void between_nodes() = 0;
};

struct ExecuteOptions {
  bool keep_graph = false;
  bool create_graph = false;
  bool accumulate_grad = true;  // false: gradients of outputs are captured and returned instead
  Aggregation aggregation = Aggregation::AsTheyArrive;
  CaptureSink* sink = nullptr;       // borrowed
  bool one_thread = false;           // needed by a sink that relies on between_nodes
  std::span<const Edge> stops = {};  // passes for chosen inputs: gradients that enter these nodes go no further
};

class GraphTask {
 public:
  explicit GraphTask(ExecuteOptions options);
  ~GraphTask();
  static int running();  // number of passes running now, on all threads
  GraphTask(const GraphTask&) = delete;
  GraphTask& operator=(const GraphTask&) = delete;

  // The task's state for a node; see TaskSlot.
  TaskSlot& slot(Node* node) {
    if (UT_LIKELY(node->slot.owner.load(std::memory_order_relaxed) == this)) return node->slot;
    return slow_slot(node);
  }
  bool has_slot(Node* node) const {
    return node->slot.owner.load(std::memory_order_relaxed) == this || shared_slots_.contains(node);
  }
  // Returns true on the first visit. Uses the slot in the node if it is free, else an entry of the map.
  bool claim(Node* node);

  // Counts the incoming edges of every node reachable from root. Edges that leave nodes below `min_topological` are not
  // counted.
  void compute_dependencies(Node* root, uint32_t min_topological);
  // For passes for chosen inputs, after compute_dependencies: uncounts the edges that leave options.stops, and those
  // that can be reached only through them.
  void cut_at_stops(uint32_t min_topological);
  // For passes for chosen inputs: selects the nodes that must run and the gradients that are captured.
  void plan_for_outputs(Node* root, std::span<const Edge> outputs);
  // Turns a sequential task into a parallel one before any gradient has arrived (the graph uses several devices).
  void share_slots();
  // For parallel passes: the order in which a sequential pass would run the nodes.
  void compute_ranks(Node* root);
  // The nodes that a sequential pass runs, in its order; the root is the first.
  std::vector<Node*> execution_order();

  // The device of the nodes that are not on the CPU, or the CPU; one of them if there are several.
  Device device() const { return first_device_; }
  bool should_run(Node* next) { return !filtered || slot(next).needed || slot(next).captured; }

  const uint64_t id;
  const ExecuteOptions options;
  Node* root = nullptr;  // borrowed from execute
  int reentrant_depth = 0;
  bool filtered = false;         // a pass for chosen inputs: only some nodes run
  bool parallel = false;         // slots hold lists of contributions (input_buffer::Shared)
  bool several_devices = false;  // besides the CPU: each has a thread
  uint32_t mode_bits = 0;        // the caller's modes, for nodes that run on other threads
  std::vector<Tensor> captured;
  struct Capture {
    Node* node;
    uint32_t input_nr;
    size_t index;
  };
  std::vector<Capture> captures;
  std::vector<std::function<void()>> final_callbacks;
  std::mutex callbacks_mutex;  // guards final_callbacks: hooks on several threads may queue callbacks
  std::unordered_map<Node*, uint64_t> ranks;
  std::vector<Node*> nodes;  // every claimed node, in the order of the first visit
  WaitingTerms waiting;      // for sequential passes that sum at the end

 private:
  TaskSlot& slow_slot(Node* node);
  void note_device(Device device);
  Device first_device_;                               // of the nodes seen so far that is not the CPU
  std::unordered_map<Node*, TaskSlot> shared_slots_;  // for nodes whose own slot another running task owns
};

// The pass that this thread is running, or null.
extern constinit thread_local GraphTask* current_graph_task __attribute__((tls_model("initial-exec")));
extern constinit thread_local Node* current_node __attribute__((tls_model("initial-exec")));

}  // namespace undertow::core
