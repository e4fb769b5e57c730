// trace.h: records the events of backward passes, in order. When off, it costs one branch per node.
// Plain records; the Python package renders them (inspect).
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace undertow::core {

class Node;
class GraphTask;

enum class TraceEvent : uint8_t {
  TaskStarted,
  TaskFinished,
  Ready,
  Started,
  TensorHook,
  RetainsGradHook,
  PreHook,
  PostHook,
  Finished,
  Arrived,
  Accumulated,
  Captured,
  Released,
  Failed
};
const char* name(TraceEvent e);

struct TraceRecord {
  TraceEvent event;
  uint64_t time_ns;      // steady clock
  uint64_t thread;       // the thread's number
  uint64_t task;         // id of the graph task
  uint64_t node;         // identifies the node; unique within the recording
  uint64_t sequence;     // the node's sequence number
  uint64_t other;        // Arrived: the producer; Ready: length of the ready queue after the push
  int32_t dependencies;  // remaining after this event
  int32_t depth;         // reentrant depth
  std::string name;      // the node's name, or a message
  std::string line;      // where the node was recorded, if known
};

namespace trace {
// Users of the switch: the trace itself, and grad_watch.
enum Watcher : uint8_t { kRecord = 1, kWatch = 2 };
extern std::atomic<uint8_t> watchers;  // atomic: set by one thread, read by all
inline bool on() { return watchers.load(std::memory_order_relaxed) != 0; }
inline bool watching() { return watchers.load(std::memory_order_relaxed) & kWatch; }  // see grad_watch.h
void set_switch(Watcher who, bool on);
uint64_t this_thread();  // a small number that identifies this thread
void start();            // drops earlier records
std::vector<TraceRecord> stop();
void record(TraceEvent event, const GraphTask* task, const Node* node, uint64_t other = 0, int32_t dependencies = 0,
            const std::string& message = {});
}  // namespace trace

}  // namespace undertow::core
