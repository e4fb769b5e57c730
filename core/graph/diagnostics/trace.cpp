// trace.cpp: see trace.h.
#include "core/graph/diagnostics/trace.h"

#include <chrono>
#include <mutex>

#include "core/graph/diagnostics/error_details.h"
#include "core/graph/engine/graph_task.h"

namespace undertow::core {

const char* name(TraceEvent e) {
  static const char* const names[] = {"task_started",      "task_finished", "ready",     "started",  "tensor_hook",
                                      "retains_grad_hook", "pre_hook",      "post_hook", "finished", "arrived",
                                      "accumulated",       "captured",      "released",  "failed"};
  return names[static_cast<int>(e)];
}

namespace trace {

std::atomic<uint8_t> watchers{0};

void set_switch(Watcher who, bool on) {
  if (on)
    watchers.fetch_or(who);
  else
    watchers.fetch_and(static_cast<uint8_t>(~who));
}

namespace {
std::mutex mutex;  // guards records
std::vector<TraceRecord> records;
std::atomic<uint64_t> thread_count{0};  // atomic: threads number themselves
thread_local uint64_t thread_number = thread_count.fetch_add(1);
}  // namespace

uint64_t this_thread() { return thread_number; }

void start() {
  std::lock_guard lock(mutex);
  records.clear();
  set_switch(kRecord, true);
}

std::vector<TraceRecord> stop() {
  std::lock_guard lock(mutex);
  set_switch(kRecord, false);
  return std::move(records);
}

void record(TraceEvent event, const GraphTask* task, const Node* node, uint64_t other, int32_t dependencies,
            const std::string& message) {
  if (!(watchers.load(std::memory_order_relaxed) & kRecord)) return;
  TraceRecord r;
  r.event = event;
  r.time_ns = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  r.thread = thread_number;
  r.task = task ? task->id : 0;
  r.node = reinterpret_cast<uint64_t>(node);
  r.sequence = node ? node->sequence_nr() : 0;
  r.other = other;
  r.dependencies = dependencies;
  r.depth = task ? task->reentrant_depth : 0;
  r.name = !message.empty() ? message : node ? node->name() : "";
  if (node) r.line = error_details::line_of(*node);
  std::lock_guard lock(mutex);
  records.push_back(std::move(r));
}

}  // namespace trace
}  // namespace undertow::core
