// trace.cpp: see trace.h.
#include "core/graph/diagnostics/trace.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "core/graph/accumulate_grad.h"
#include "core/graph/diagnostics/provenance.h"
#include "core/graph/diagnostics/tensor_number.h"
#include "core/graph/diagnostics/trace_lists.h"
#include "core/graph/engine/graph_task.h"
#include "core/graph/saved_tensor.h"
#include "core/tensor/storage/allocator.h"

namespace undertow::core {

const char* name(TraceEvent e) {
  static const char* const names[] = {"task_started",      "task_finished", "ready",     "started",  "tensor_hook",
                                      "retains_grad_hook", "pre_hook",      "post_hook", "finished", "arrived",
                                      "accumulated",       "captured",      "released",  "failed",   "recorded"};
  return names[static_cast<int>(e)];
}

namespace trace {

std::atomic<uint8_t> watchers{0};
int32_t (*current_place)() = nullptr;
void (*observe)(const GraphTask&, Node*, std::span<Tensor>) = nullptr;
void (*list_hooks)(const Node*, std::vector<HookFunction>&) = nullptr;

void set_switch(Watcher who, bool on) {
  if (on)
    watchers.fetch_or(who);
  else
    watchers.fetch_and(static_cast<uint8_t>(~who));
}

Lists& lists() {
  static auto* all = new Lists;  // leaked: threads may record during exit
  return *all;
}

namespace {
std::atomic<uint64_t> thread_count{0};  // atomic: threads number themselves
thread_local uint64_t thread_number = thread_count.fetch_add(1);
thread_local int32_t module_now = -1;
std::atomic<bool> with_memory{false};  // atomic, like the next two: set by start, read by every thread
std::atomic<bool> with_forward{false};
std::atomic<size_t> most_events{SIZE_MAX};
std::atomic<bool> lines_asked{false};  // lines were recorded before the outermost recording

thread_local Lane* lane = nullptr;  // owned by `kept`; a plain pointer is cheaper to read
thread_local std::shared_ptr<Lane> kept;

Lane& my_lane() {
  if (UT_UNLIKELY(!lane)) {
    kept = std::make_shared<Lane>();
    kept->thread = thread_number;
    lane = kept.get();
    std::lock_guard lock(lists().mutex);
    lists().lanes.push_back(kept);
  }
  return *lane;
}

uint64_t now() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

void push(TraceEvent event, uint64_t pass, const Node* node, const TraceDetails& d) {
  Lane& to = my_lane();
  uint64_t memory = with_memory.load(std::memory_order_relaxed) ? allocator_stats().in_use : 0;
  std::lock_guard lock(to.mutex);
  if (UT_UNLIKELY(to.events.size() >= most_events.load(std::memory_order_relaxed))) {
    to.dropped = true;
    return;
  }
  to.events.push({now(), node, d.other, memory, static_cast<uint32_t>(pass), d.slot, d.dependencies, event});
}

// Copies what a node says about itself.
class GraphCopy {
 public:
  explicit GraphCopy(RawPass& to) : to_(to) {}

  void add(const Node* node) {
    const Node* inner = node->inner_node();
    const Node* made = inner ? inner : node;
    NodeExtra* extra = made->extra();
    RawNode row{node,
                made,
                node->sequence_nr(),
                made->sequence_nr(),
                0,
                node->topological_nr(),
                node->is_function(),
                name_of(node),
                extra ? extra->origin : Ref<NodeOrigin>(),
                to_.data.size()};
    if (node->is_accumulate()) row.leaf = provenance::number_of(static_cast<const AccumulateGrad*>(node)->leaf());
    if ((extra || row.leaf) && list_hooks) {
      std::vector<HookFunction> found;
      list_hooks(node, found);
      for (HookFunction& f : found) to_.hooks.emplace_back(node, std::move(f));
    }
    to_.data.push_back(node->num_inputs());
    for (uint32_t i = 0; i < node->num_inputs(); i++) {
      const InputMeta& m = node->input_meta(i);
      shape(m.defined() ? static_cast<uint64_t>(m.dtype()) : kUndefined, m.defined() ? m.sizes() : IntSpan());
    }
    to_.data.push_back(node->num_edges());
    for (const Edge& e : node->next_edges()) {
      to_.data.push_back(reinterpret_cast<uint64_t>(e.node.get()));
      to_.data.push_back(e.input_nr);
    }
    size_t count_at = to_.data.size();
    to_.data.push_back(0);
    node->visit_kept([](void* self, const char* name,
                        const SavedTensor& saved) { static_cast<GraphCopy*>(self)->kept(name, saved); },
                     this);
    if (!count_)  // nodes of extensions may report what they hold only here
      node->visit_saved([](void* self, const char* name,
                           TensorImpl* t) { static_cast<GraphCopy*>(self)->saved(provenance::permanent(name), t); },
                        this);
    to_.data[count_at] = count_;
    count_ = 0;
    to_.nodes.push_back(std::move(row));
  }

 private:
  static constexpr uint64_t kUndefined = UINT64_MAX;
  // Neighbors often have the same name, and the lock is taken once per name.
  const std::string* name_of(const Node* node) {
    std::string name = node->name();
    auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    std::lock_guard lock(lists().mutex);
    const std::string* kept = &*lists().names.insert(name).first;
    names_.emplace(std::move(name), kept);
    return kept;
  }
  void shape(uint64_t dtype, IntSpan sizes) {
    to_.data.push_back(dtype);
    to_.data.push_back(sizes.size());
    for (int64_t s : sizes) to_.data.push_back(static_cast<uint64_t>(s));
  }
  void kept(const char* name, const SavedTensor& s) {
    if (s.has_hooks()) {
      packed_ = name;
      size_t before = count_;
      s.visit_packed([](void* self, TensorImpl* t, bool) { static_cast<GraphCopy*>(self)->saved(nullptr, t); }, this);
      if (count_ == before) unknown(name);
    } else if (TensorImpl* t = s.peek()) {
      saved(name, t);
    }
  }
  void saved(const char* name, TensorImpl* t) {
    to_.data.push_back(reinterpret_cast<uint64_t>(name ? name : packed_));
    shape(static_cast<uint64_t>(t->dtype), t->sizes());
    to_.data.push_back(static_cast<uint64_t>(t->numel * itemsize(t->dtype)));
    to_.data.push_back(reinterpret_cast<uint64_t>(t->storage));
    count_++;
  }
  void unknown(const char* name) {  // hooks packed it into something that is no tensor
    to_.data.push_back(reinterpret_cast<uint64_t>(name));
    shape(kUndefined, {});
    to_.data.push_back(0);
    to_.data.push_back(0);
    count_++;
  }

  RawPass& to_;
  std::unordered_map<std::string, const std::string*> names_;
  const char* packed_ = nullptr;
  size_t count_ = 0;
};

}  // namespace

uint64_t this_thread() { return thread_number; }

int32_t set_module(int32_t module) { return std::exchange(module_now, module); }

int start(Options options) {
  Lists& all = lists();
  std::lock_guard lock(all.mutex);
  if (all.recordings.empty()) {
    with_memory = with_forward = false;
    most_events = 0;
    all.lines_before = (process_mode.load() & kSourceLines) != 0;
    lines_asked = all.lines_before || mode_is(kSourceLines) || anomaly_enabled();
  }
  if (options.memory) with_memory = true;
  if (options.forward) {
    with_forward = true;
    process_mode.fetch_or(kSourceLines);
  }
  most_events = std::max(most_events.load(), options.most_events);
  Lists::Start now;
  for (const auto& at : all.lanes) {
    std::lock_guard lane_lock(at->mutex);
    now.events.push_back(at->events.size());
  }
  now.passes = all.passes.size();
  all.recordings.emplace(++all.last_recording, std::move(now));
  set_switch(kRecord, true);
  return all.last_recording;
}

void record(TraceEvent event, const GraphTask* task, const Node* node, TraceDetails details) {
  if (is_set(kRecord)) push(event, task ? task->id : 0, node, details);
}

void pass_started(const GraphTask& task, const Node* root, const GraphTask* outer) {
  if (!is_set(kRecord)) return;
  {
    Lane& mine = my_lane();
    std::lock_guard lock(mine.mutex);
    if (mine.dropped) return;  // the recording is full
  }
  RawPass pass{task.id,
               outer ? outer->id : 0,
               thread_number,
               task.reentrant_depth,
               task.options.keep_graph,
               task.options.create_graph,
               task.options.accumulate_grad,
               task.parallel,
               root,
               {},
               {},
               {},
               {},
               {}};
  for (const GraphTask::Capture& c : task.captures) pass.captures.emplace_back(c.node, c.input_nr);
  pass.nodes.reserve(task.nodes.size());
  pass.data.reserve(task.nodes.size() * 16);
  GraphCopy copy(pass);
  for (const Node* node : task.nodes) copy.add(node);
  {
    std::lock_guard lock(lists().mutex);
    lists().passes.push_back(std::move(pass));
  }
  // The operators of gradient formulas need no provenance, which would cost more than the rest of the recording. The
  // engine's guards restore the mode when the pass ends.
  if (!task.options.create_graph && !lines_asked.load(std::memory_order_relaxed))
    thread_mode.bits &= ~static_cast<uint32_t>(kProvenance);
  push(TraceEvent::TaskStarted, task.id, root, {});
  push(TraceEvent::Ready, task.id, root, {.other = 1});
}

void pass_failed(const GraphTask& task, const Node* node, const char* message) {
  if (!is_set(kRecord)) return;
  push(TraceEvent::Failed, task.id, node, {});
  std::lock_guard lock(lists().mutex);
  for (RawPass& pass : lists().passes)
    if (pass.id == task.id) pass.error = message;
}

void node_recorded(const Node* node) {
  if (!is_set(kRecord) || !with_forward.load(std::memory_order_relaxed)) return;
  int32_t place = current_place ? current_place() : -1;
  push(TraceEvent::Recorded, current_graph_task ? current_graph_task->id : 0, node,
       {.other = node->sequence_nr(), .slot = module_now, .dependencies = place});
}

}  // namespace trace
}  // namespace undertow::core
