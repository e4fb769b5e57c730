// workers.cpp: see workers.h. One shared run per pass: a queue for the CPU, and one per device that the graph uses.
//
// Threads are created for a pass and joined at its end, so that none outlives it: a fork after backward() is safe, and
// an idle process has no threads. Creating one costs about 20 us, which is negligible for a pass worth parallelizing.
//
// Note [Sequence Numbers Of A Parallel Pass]
// A pass with create_graph records nodes. The order of their sequence numbers is the order of the next pass, and so of
// its sums. So that it does not depend on which thread ran which node, each node gets its own block of numbers, placed
// by its rank in the sequential order: first for the nodes that it records itself, then for the additions of the
// gradients that it sends (a sequential pass records these when they arrive, a parallel one when the receiver runs).
// build: small
#include "core/graph/engine/workers.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <system_error>
#include <thread>

#include "core/base/interpreter_lock.h"
#include "core/base/signals.h"
#include "core/graph/diagnostics/trace.h"
#include "core/graph/engine/engine.h"
#include "core/graph/engine/evaluate.h"
#include "core/graph/engine/input_buffer.h"
#include "core/graph/engine/ready_queue.h"

namespace undertow::core {

namespace engine {
namespace {
std::atomic<int> workers{1};  // atomic: set by one thread, read by passes on others
thread_local bool multithreading = true;
}  // namespace
void set_num_workers(int64_t n) {
  UT_CHECK_VALUE(n >= 1 && n <= kMaxWorkers, "set_num_workers: expected 1 to ", kMaxWorkers, ", got ", n);
  workers.store(static_cast<int>(n));
}
int num_workers() { return workers.load(std::memory_order_relaxed); }
void set_multithreading_enabled(bool on) { multithreading = on; }
bool multithreading_enabled() { return multithreading; }
}  // namespace engine

namespace {

class SharedRun {
 public:
  SharedRun(GraphTask& task, Node* root) : task_(task) {
    for (Node* n : task.nodes) {
      left_[n].store(task.slot(n).dependencies, std::memory_order_relaxed);
      if (n->has_device_thread()) devices_.try_emplace(n->device());
    }
    outstanding_.store(1);
    queue_of(root).push({&task, root});
  }
  ~SharedRun() { thread_mode.sequence = first_sequence_ + (task_.ranks.size() + 1) * kBlock; }

  void run() {
    std::vector<std::thread> threads;
    int workers = engine::multithreading_enabled() ? engine::num_workers() : 1;
    // The calling thread works too, without the interpreter lock. A Python node or hook acquires it when needed.
    WithoutInterpreter free;
    workers = static_cast<int>(std::min<size_t>(static_cast<size_t>(workers), task_.nodes.size()));
    try {
      for (int i = 1; i < workers; i++) threads.emplace_back([this] { as_worker(cpu_); });
    } catch (const std::system_error&) {  // the system has no more threads: those that started do the work
    }
    for (auto& [device, queue] : devices_) threads.emplace_back([this, &queue = queue] { as_worker(queue); });
    loop(cpu_);
    for (auto& t : threads) t.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  ReadyQueue& queue_of(Node* n) { return n->has_device_thread() ? devices_[n->device()] : cpu_; }

  void as_worker(ReadyQueue& queue) {
    thread_mode.bits = task_.mode_bits;
    thread_mode.transform = transform_;
    current_graph_task = &task_;
    loop(queue);
    current_graph_task = nullptr;
    thread_mode.bits = 0;
    thread_mode.transform = 0;
  }

  void loop(ReadyQueue& queue) {
    while (Node* first = queue.pop([this] { poll(); }).node) {
      // A node that becomes ready runs next on the same thread, where its gradient is in the cache. Only further ready
      // nodes go to the queue, where they may wake another worker. So a chain runs on one thread without taking a lock.
      for (Node* node = first; node;) node = run_one(node, queue);
    }
  }

  // Runs a node; returns a node that became ready on the same queue, if any.
  Node* run_one(Node* node, ReadyQueue& queue) {
    Node* next = nullptr;
    if (!failed_.load(std::memory_order_relaxed)) {
      try {
        poll_signals(Polls::BetweenNodes);
        next = run_node(node, queue);
      } catch (...) {
        report_failure(current_node);
        fail();
      }
    }
    current_node = nullptr;
    // The run ends when the last ready node has finished. After a failure, no new node becomes ready.
    if (outstanding_.fetch_sub(1) == 1) stop();
    return next;
  }

  // Call it inside catch (...). The first failure is the one to report.
  void fail() {
    std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
    failed_.store(true);
  }

  // While this thread waits for others. Nodes that run are finished, no other begins.
  void poll() {
    try {
      poll_signals(Polls::BetweenNodes);
    } catch (...) {
      fail();
    }
  }

  Node* run_node(Node* node, ReadyQueue& queue) {
    TaskSlot& slot = task_.slot(node);
    GradArray grad_outputs(std::max<uint32_t>(node->num_inputs(), 1)), grad_inputs(node->num_edges());
    input_buffer::take_shared(slot, grad_outputs.span(), task_.options.aggregation,
                              [this](uint64_t rank, uint32_t edge) {
                                thread_mode.sequence = first_sequence_ + rank * kBlock + kBlock / 2 + edge;
                              });
    current_node = node;
    auto found = task_.ranks.find(node);
    uint64_t rank = found == task_.ranks.end() ? 0 : found->second;
    thread_mode.sequence = first_sequence_ + rank * kBlock;
    if (!evaluate_node(task_, slot, node, grad_outputs.span(), grad_inputs.span())) return nullptr;
    Node* kept = nullptr;
    for (uint32_t i = 0; i < node->num_edges(); i++) {
      const Edge& e = node->edges()[i];
      Node* next = e.node.get();
      if (!next) continue;
      const bool arrives = task_.should_run(next) && grad_inputs[i].defined();
      if (arrives) input_buffer::add_shared(task_.slot(next), {rank, i, e.input_nr, std::move(grad_inputs[i])});
      int32_t left = left_.at(next).fetch_sub(1, std::memory_order_acq_rel) - 1;
      if (trace::on())
        trace::record(TraceEvent::Arrived, &task_, next,
                      {.other = reinterpret_cast<uint64_t>(node),
                       .slot = arrives ? static_cast<int32_t>(e.input_nr) : -1,
                       .dependencies = left});
      if (left != 0 || !task_.should_run(next)) continue;
      outstanding_.fetch_add(1);
      if (trace::on()) trace::record(TraceEvent::Ready, &task_, next, {.other = queue_of(next).size() + 1});
      // Keep the most recently recorded node, as the queue would.
      if (&queue_of(next) == &queue && (!kept || next->sequence_nr() > kept->sequence_nr())) std::swap(kept, next);
      if (next) queue_of(next).push({&task_, next});
    }
    return kept;
  }

  void stop() {
    cpu_.stop();
    for (auto& [device, queue] : devices_) queue.stop();
  }

  static constexpr uint64_t kBlock = 1 << 20;  // numbers per node; a node that records more runs into the next block

  GraphTask& task_;
  const uint64_t first_sequence_ = thread_mode.sequence;
  const uint32_t transform_ = thread_mode.transform;  // of the thread that makes the pass
  ReadyQueue cpu_;
  std::map<Device, ReadyQueue> devices_;
  std::unordered_map<Node*, std::atomic<int32_t>> left_;  // keys are set before the threads start
  std::atomic<int64_t> outstanding_{0};                   // nodes ready or running
  std::atomic<bool> failed_{false};
  std::mutex error_mutex_;  // guards error_
  std::exception_ptr error_;
};

}  // namespace

void run_in_parallel(GraphTask& task, Node* root) { SharedRun(task, root).run(); }

}  // namespace undertow::core
