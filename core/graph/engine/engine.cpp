// engine.cpp: the sequential pass, and the entry point of every pass.
//
// Note [Engine Locks]
// A sequential pass takes only one lock: a leaf's, while it adds to .grad (accumulate_grad.cpp). Lock order where
// several are held: the queue mutex of a shared run (workers.cpp), then the spin lock of a node's contributions
// (input_buffer.h). No lock is held while a node, a hook or Python runs. No thread waits for the interpreter lock while
// it holds one of ours, except a leaf's; threads that wait for a leaf's lock release the interpreter lock.
#include "core/graph/engine/engine.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>

#include "core/base/interpreter_lock.h"
#include "core/base/signals.h"
#include "core/graph/diagnostics/error_details.h"
#include "core/graph/diagnostics/grad_watch.h"
#include "core/graph/diagnostics/trace.h"
#include "core/graph/engine/evaluate.h"
#include "core/graph/engine/input_buffer.h"
#include "core/graph/engine/workers.h"
#include "core/graph/structural.h"
#include "core/tensor/storage/stream_fence.h"

namespace undertow::core {

const InterpreterLock* interpreter_lock = nullptr;

bool Node::pass_needs(uint32_t i) const {
  GraphTask* task = current_graph_task;
  // A node that user code calls inside a pass is not part of that pass.
  if (!task || !task->filtered || current_node != this) return true;
  return task->should_run(edges()[i].node.get());
}

namespace engine {

namespace {

// The ready nodes, most recently recorded first. Most passes have one or two at a time, so a single node needs no heap
// operation.
class LocalQueue {
 public:
  void push(Node* node) {
    heap_.push_back(node);
    if (heap_.size() > 1) std::push_heap(heap_.begin(), heap_.end(), before);
  }
  Node* pop() {
    if (heap_.size() > 1) std::pop_heap(heap_.begin(), heap_.end(), before);
    Node* n = heap_.back();
    heap_.pop_back();
    return n;
  }
  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }

 private:
  static bool before(const Node* a, const Node* b) { return a->sequence_nr() < b->sequence_nr(); }
  std::vector<Node*> heap_;
};

// Releases the interpreter lock once a pass turns out to be long, so that other Python threads can run. A short pass
// keeps it, because releasing and reacquiring it under contention costs more than the pass.
class LongPass {
 public:
  void count(std::span<Tensor> grads) {
    if (++nodes_ % kNodesPerPoll == 0) poll_signals(Polls::BetweenNodes);
    if (released_) return;
    work_ += 16;
    for (const Tensor& g : grads)
      if (g.defined()) work_ += static_cast<uint64_t>(g.numel());
    if (work_ < kLong) return;
    released_.emplace();
  }

 private:
  static constexpr uint64_t kLong = 64 * 1024;
  uint64_t work_ = 0;
  uint32_t nodes_ = 0;
  std::optional<WithoutInterpreter> released_;
};

struct CurrentTask {
  explicit CurrentTask(GraphTask* task) : saved_task(current_graph_task), saved_node(current_node) {
    current_graph_task = task;
  }
  ~CurrentTask() {
    current_graph_task = saved_task;
    current_node = saved_node;
  }
  GraphTask* saved_task;
  Node* saved_node;
};

// If the pass sums at the end, the first contribution goes into the buffer and the others wait.
void add_or_wait(GraphTask& task, TaskSlot& slot, Node* next, uint32_t input_nr, Tensor grad) {
  bool wait =
      task.options.aggregation != Aggregation::AsTheyArrive && input_buffer::peek(slot, *next, input_nr).defined();
  if (wait)
    task.waiting.keep(next, input_nr, std::move(grad));
  else
    input_buffer::add(slot, *next, input_nr, std::move(grad));
}

constexpr uint32_t kNothing = UINT32_MAX;  // the input number of an edge along which no gradient came

// Records that the gradient of one edge has arrived; cold, to keep it out of the loop below.
[[gnu::cold, gnu::noinline]] void trace_arrival(const GraphTask& task, const Node* from, const Edge& e, int32_t left) {
  trace::record(
      TraceEvent::Arrived, &task, e.node.get(),
      {.other = reinterpret_cast<uint64_t>(from), .slot = static_cast<int32_t>(e.input_nr), .dependencies = left});
}

// kConfigured: the pass has a sink, or does not sum as contributions arrive. The default pass pays nothing for these.
template <bool kConfigured>
void run_sequentially(GraphTask& task, Node* root) {
  LocalQueue queue;
  LongPass long_pass;
  ReusedGrads reused_outputs, reused_inputs;
  queue.push(root);
  while (!queue.empty()) {
    Node* node = queue.pop();
    TaskSlot& slot = task.slot(node);
    std::span<Tensor> grad_outputs = reused_outputs.take(std::max<uint32_t>(node->num_inputs(), 1));
    std::span<Tensor> grad_inputs = reused_inputs.take(node->num_edges());
    input_buffer::take(slot, *node, grad_outputs);
    if constexpr (kConfigured) {
      if (task.options.sink && !node->is_accumulate()) task.options.sink->between_nodes();
      if (task.options.aggregation != Aggregation::AsTheyArrive)
        task.waiting.sum_into(node, grad_outputs, task.options.aggregation);
    }
    long_pass.count(grad_outputs);
    current_node = node;
    if (!evaluate_node(task, slot, node, grad_outputs, grad_inputs)) continue;
    for (uint32_t i = 0; i < node->num_edges(); i++) {
      const Edge& e = node->edges()[i];
      Node* next = e.node.get();
      if (!next) continue;
      TaskSlot& next_slot = task.slot(next);
      next_slot.dependencies--;
      if (UT_UNLIKELY(task.filtered) && !next_slot.needed && !next_slot.captured) continue;
      if (grad_inputs[i].defined()) {
        if constexpr (kConfigured)
          add_or_wait(task, next_slot, next, e.input_nr, std::move(grad_inputs[i]));
        else
          input_buffer::add(next_slot, *next, e.input_nr, std::move(grad_inputs[i]));
        if (UT_UNLIKELY(trace::on())) trace_arrival(task, node, e, next_slot.dependencies);
      } else if (UT_UNLIKELY(trace::on())) {
        trace_arrival(task, node, {e.node, kNothing}, next_slot.dependencies);
      }
      if (next_slot.dependencies == 0) {
        queue.push(next);
        if (UT_UNLIKELY(trace::on())) trace::record(TraceEvent::Ready, &task, next, {.other = queue.size()});
      }
    }
  }
}

void run_callbacks(GraphTask& task) {
  // Callbacks may queue more callbacks.
  for (size_t i = 0;; i++) {
    std::function<void()> callback;
    {
      std::lock_guard lock(task.callbacks_mutex);
      if (i >= task.final_callbacks.size()) return;
      callback = task.final_callbacks[i];
    }
    callback();
  }
}

std::vector<Tensor> run_task(GraphTask& task, Node* root) {
  CurrentTask current(&task);
  GradModeGuard grad_mode(task.options.create_graph);
  ModeGuard filtered(kFilteredPass, task.filtered);
  if (UT_UNLIKELY(trace::on())) {
    trace::pass_started(task, root, current.saved_task);
    if (trace::watching()) grad_watch::begins(&task);
  }
  task.mode_bits = thread_mode.bits;
  FencedPass fenced(task.device());  // See Note [Streams In A Pass]
  try {
    if (task.parallel)
      run_in_parallel(task, root);
    else if (task.options.sink || task.options.aggregation != Aggregation::AsTheyArrive)
      run_sequentially<true>(task, root);
    else
      run_sequentially<false>(task, root);
    current_node = nullptr;
    if (task.options.sink) task.options.sink->between_nodes();
    run_callbacks(task);
  } catch (const std::exception& e) {
    if (trace::on()) trace::pass_failed(task, current_node, e.what());
    if (!task.parallel) report_failure(current_node);
    throw;
  }
  if (UT_UNLIKELY(trace::on())) trace::record(TraceEvent::TaskFinished, &task, root);
  return std::move(task.captured);
}

}  // namespace

std::vector<Tensor> execute(std::span<const Edge> roots, std::span<const Tensor> root_grads, ExecuteOptions options,
                            std::span<const Edge> outputs) {
  SmallVector<Tensor, 2> grads(root_grads.begin(), root_grads.end());
  {
    GradModeGuard grad_mode(options.create_graph);
    for (size_t i = 0; i < roots.size(); i++)
      if (roots[i] && grads[i].defined())
        validate_gradient(roots[i].node->input_meta(roots[i].input_nr), grads[i], i, nullptr);
  }
  Ref<Node> root;
  bool single = roots.size() == 1 && roots[0];
  if (single)
    root = roots[0].node;
  else
    root = Ref<Node>::adopt(new GraphRoot(roots, grads));

  GraphTask task(options);
  task.root = root.get();
  if (note_pass) note_pass(task.id);
  task.parallel = num_workers() > 1 && multithreading_enabled() && !options.one_thread;
  task.reentrant_depth = current_graph_task ? current_graph_task->reentrant_depth + 1 : 0;
  uint32_t min_topological = 0;
  if (!outputs.empty()) {
    min_topological = UINT32_MAX;
    for (const Edge& e : outputs) min_topological = std::min(min_topological, e.node->topological_nr());
  }
  task.compute_dependencies(root.get(), min_topological);
  if (UT_UNLIKELY(!options.stops.empty())) task.cut_at_stops(min_topological);
  if (!outputs.empty()) task.plan_for_outputs(root.get(), outputs);
  if (task.several_devices && !task.parallel) task.share_slots();
  if (task.parallel) task.compute_ranks(root.get());
  if (single && grads[0].defined()) {
    if (task.parallel)
      input_buffer::add_shared(task.slot(root.get()), {0, 0, roots[0].input_nr, grads[0]});
    else
      input_buffer::add(task.slot(root.get()), *root, roots[0].input_nr, std::move(grads[0]));
  }
  if (task.reentrant_depth == 0 || task.reentrant_depth % kMaxNestedDepth != 0) return run_task(task, root.get());

  // Too deep for this stack: continue on a new thread, with the modes of this one.
  std::vector<Tensor> result;
  std::exception_ptr error;
  GraphTask* outer = current_graph_task;
  ThreadMode mode = thread_mode;
  {
    WithoutInterpreter free;
    std::thread deeper([&] {
      thread_mode = mode;
      current_graph_task = outer;
      try {
        result = run_task(task, root.get());
      } catch (...) {
        error = std::current_exception();
      }
      mode.sequence = thread_mode.sequence;
      current_graph_task = nullptr;
    });
    deeper.join();
  }
  thread_mode.sequence = mode.sequence;  // nodes recorded on that thread come before those recorded here from now on
  if (error) std::rethrow_exception(error);
  return result;
}

void queue_callback(std::function<void()> fn) {
  UT_CHECK(current_graph_task, "Final callbacks can only be installed during backward pass.");
  std::lock_guard lock(current_graph_task->callbacks_mutex);
  current_graph_task->final_callbacks.push_back(std::move(fn));
}

bool will_execute(Node* node) {
  GraphTask* task = current_graph_task;
  if (!task || !task->has_slot(node)) return false;
  UT_CHECK(!(task->slot(node).captured && node->is_accumulate()),
           "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
           "currently not supported.");
  return task->should_run(node);
}

bool is_checkpoint_valid() { return !current_graph_task || !current_graph_task->filtered; }
int64_t current_graph_task_id() { return current_graph_task ? static_cast<int64_t>(current_graph_task->id) : -1; }

}  // namespace engine
}  // namespace undertow::core
