// graph_task.cpp: claims nodes, counts dependencies, and selects the nodes that must run.
#include "core/graph/engine/graph_task.h"

#include <algorithm>
#include <atomic>
#include <queue>
#include <unordered_set>

#include "core/base/signals.h"
#include "core/graph/engine/input_buffer.h"

namespace undertow::core {

constinit thread_local GraphTask* current_graph_task __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local Node* current_node __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {
std::atomic<uint64_t> next_id{1};   // atomic: passes start on any thread
std::atomic<int> running_count{0};  // atomic: as next_id
}  // namespace

GraphTask::GraphTask(ExecuteOptions o) : id(next_id.fetch_add(1)), options(o) { running_count.fetch_add(1); }

int GraphTask::running() { return running_count.load(); }

GraphTask::~GraphTask() {
  running_count.fetch_sub(1);
  // Frees the slots of nodes that did not run (after an exception, or in a pruned branch).
  for (Node* n : nodes) {
    if (n->slot.owner.load(std::memory_order_relaxed) != this) continue;
    if (parallel)
      input_buffer::clear_shared(n->slot);
    else
      input_buffer::clear(n->slot, *n);
    n->slot.owner.store(nullptr, std::memory_order_release);
  }
  for (auto& [n, s] : shared_slots_) {
    if (parallel)
      input_buffer::clear_shared(s);
    else
      input_buffer::clear(s, *n);
  }
}

TaskSlot& GraphTask::slow_slot(Node* node) {
  auto it = shared_slots_.find(node);
  UT_ASSERT(it != shared_slots_.end(), "node without a slot: ", node->name());
  return it->second;
}

bool GraphTask::claim(Node* node) {
  GraphTask* expected = nullptr;
  if (node->slot.owner.load(std::memory_order_relaxed) == this) return false;
  // A node that was visited while another task owned its slot stays in the map, even if the slot is free by now.
  if (UT_UNLIKELY(!shared_slots_.empty()) && shared_slots_.contains(node)) return false;
  if (node->slot.owner.compare_exchange_strong(expected, this, std::memory_order_acquire)) {
    node->slot.dependencies = 0;
    node->slot.needed = node->slot.captured = false;
    if (UT_UNLIKELY(parallel)) node->slot.buffer = new input_buffer::Shared;
  } else {
    auto [it, fresh] = shared_slots_.try_emplace(node);
    if (!fresh) return false;
    if (parallel) it->second.buffer = new input_buffer::Shared;
  }
  nodes.push_back(node);
  return true;
}

// A single device needs no thread of its own: the calling thread issues its work, which runs asynchronously anyway.
void GraphTask::note_device(Device device) {
  several_devices |= !first_device_.is_cpu() && first_device_ != device;
  first_device_ = device;
}

void GraphTask::compute_dependencies(Node* root, uint32_t min_topological) {
  claim(root);
  // `nodes` is both the list of claimed nodes and the work list.
  for (size_t i = 0; i < nodes.size(); i++) {
    if (i % kNodesPerPoll == 0) poll_signals(Polls::BetweenNodes);
    Node* node = nodes[i];
    if (node->topological_nr() < min_topological) continue;
    if (node->has_device_thread()) note_device(node->device());
    for (const Edge& e : node->next_edges()) {
      if (!e.node) continue;
      claim(e.node.get());
      slot(e.node.get()).dependencies++;
    }
  }
}

void GraphTask::cut_at_stops(uint32_t min_topological) {
  std::vector<Node*> cut;
  std::unordered_set<Node*> done;
  for (const Edge& e : options.stops)
    if (has_slot(e.node.get()) && done.insert(e.node.get()).second) cut.push_back(e.node.get());
  while (!cut.empty()) {
    Node* node = cut.back();
    cut.pop_back();
    if (node->topological_nr() < min_topological) continue;  // its edges were not counted
    for (const Edge& e : node->next_edges())
      if (e.node && --slot(e.node.get()).dependencies == 0 && done.insert(e.node.get()).second)
        cut.push_back(e.node.get());
  }
}

void GraphTask::plan_for_outputs(Node* root, std::span<const Edge> outputs) {
  filtered = true;
  uint32_t min_topological = UINT32_MAX;
  for (size_t i = 0; i < outputs.size(); i++) {
    Node* n = outputs[i].node.get();
    min_topological = std::min(min_topological, n->topological_nr());
    claim(n);
    if (options.accumulate_grad) {
      slot(n).needed = true;
    } else {
      slot(n).captured = true;
      captures.push_back({n, outputs[i].input_nr, i});
    }
  }
  if (!options.accumulate_grad) captured.resize(outputs.size());
  std::unordered_set<Node*> stops;
  for (const Edge& e : options.stops) stops.insert(e.node.get());
  auto stops_at = [&](Node* n) { return !stops.empty() && stops.contains(n); };
  // Depth first with an explicit stack; a node is needed if any child is needed or captured. So is the root: a pass
  // that reaches none of its outputs runs nothing.
  struct Frame {
    Node* node;
    uint32_t next;
  };
  std::vector<Frame> stack;
  auto enter = [&](Node* n) {
    TaskSlot& s = slot(n);
    if (s.visited) return;
    s.visited = true;
    if (n->topological_nr() >= min_topological) stack.push_back({n, 0});
  };
  for (Node* n : nodes) slot(n).visited = false;
  enter(root);
  for (uint32_t step = 1; !stack.empty(); step++) {
    if (step % kNodesPerPoll == 0) poll_signals(Polls::BetweenNodes);
    Frame& f = stack.back();
    if (f.next < f.node->num_edges()) {
      Node* child = f.node->edges()[f.next].node.get();
      if (!child) {
        f.next++;
        continue;
      }
      claim(child);
      TaskSlot& c = slot(child);
      if (!c.visited && child->topological_nr() >= min_topological) {
        enter(child);  // invalidates f; we return to the same edge afterwards
        continue;
      }
      if ((c.needed || c.captured) && !stops_at(f.node)) slot(f.node).needed = true;
      f.next++;
    } else {
      stack.pop_back();
    }
  }
  for (const Edge& e : outputs) {
    TaskSlot& s = slot(e.node.get());
    if (!s.visited) s.needed = s.captured = false;  // not in the graph of the roots: will_execute says so
  }
  for (Node* n : nodes) slot(n).visited = false;
}

std::vector<Node*> GraphTask::execution_order() {
  std::unordered_map<Node*, int32_t> left{{root, 1}};
  std::vector<Node*> pending{root};
  auto runs = [&](Node* n) { return n && has_slot(n) && (n == root || should_run(n)); };
  while (!pending.empty()) {
    Node* n = pending.back();
    pending.pop_back();
    for (const Edge& e : n->next_edges())
      if (runs(e.node.get()) && left[e.node.get()]++ == 0) pending.push_back(e.node.get());
  }
  auto later = [](const Node* a, const Node* b) { return a->sequence_nr() < b->sequence_nr(); };
  std::priority_queue<Node*, std::vector<Node*>, decltype(later)> ready(later);
  ready.push(root);
  std::vector<Node*> order;
  while (!ready.empty()) {
    Node* n = ready.top();
    ready.pop();
    order.push_back(n);
    for (const Edge& e : n->next_edges())
      if (runs(e.node.get()) && --left[e.node.get()] == 0) ready.push(e.node.get());
  }
  return order;
}

void GraphTask::share_slots() {
  parallel = true;
  for (Node* n : nodes) slot(n).buffer = new input_buffer::Shared;
}

void GraphTask::compute_ranks(Node* root) {
  // Simulates the sequential schedule; see Note [Fixed Summation Order].
  auto later = [](const Node* a, const Node* b) { return a->sequence_nr() < b->sequence_nr(); };
  std::priority_queue<Node*, std::vector<Node*>, decltype(later)> ready(later);
  std::unordered_map<Node*, int32_t> left;
  for (Node* n : nodes) left[n] = slot(n).dependencies;
  ready.push(root);
  uint64_t rank = 0;
  while (!ready.empty()) {
    if (rank % kNodesPerPoll == 0) poll_signals(Polls::BetweenNodes);
    Node* n = ready.top();
    ready.pop();
    ranks[n] = rank++;
    for (const Edge& e : n->next_edges())
      if (e.node && --left[e.node.get()] == 0) ready.push(e.node.get());
  }
}

}  // namespace undertow::core
