// trace.h: what happened during backward passes, in order, for those who watch. Off, it costs one branch per node.
// Plain records; rendering belongs to the Python package (inspect).
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace undertow {

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
  uint64_t thread;       // small number per thread
  uint64_t task;         // graph task's id
  uint64_t node;         // identity of the node, unique within the recording
  uint64_t sequence;     // the node's sequence number
  uint64_t other;        // Arrived: the producer; Ready: ready-queue length after the push
  int32_t dependencies;  // left after this event
  int32_t depth;         // reentrant depth
  std::string name;      // node's name, or a message
  std::string line;      // where the node was made, when known
};

namespace trace {
// Who watches: the trace itself, and those that ride on its switch.
enum Watcher : uint8_t { kRecord = 1, kWatch = 2 };
extern std::atomic<uint8_t> watchers;  // atomic: switched by one thread, read by all
inline bool on() { return watchers.load(std::memory_order_relaxed) != 0; }
inline bool watching() { return watchers.load(std::memory_order_relaxed) & kWatch; }  // see grad_watch.h
void set_switch(Watcher who, bool on);
uint64_t this_thread();  // its small number
void start();            // drops what was recorded before
std::vector<TraceRecord> stop();
void record(TraceEvent event, const GraphTask* task, const Node* node, uint64_t other = 0, int32_t dependencies = 0,
            const std::string& message = {});
}  // namespace trace

}  // namespace undertow
