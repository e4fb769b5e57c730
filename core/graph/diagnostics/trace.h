// trace.h: records the events of backward passes, and the graphs they ran on. When off, it costs one branch per node.
// Writes plain records; trace_reader.h numbers the nodes and sorts the events, the Python package shows them (inspect).
//
// Note [Recording A Pass]
// While a pass runs, an event is one store into a list that belongs to its thread: no string, no map, no lock that
// other threads want. Events name nodes by address. That is enough within a pass, because its root keeps the graph
// alive. What a node says about itself (name, shapes, edges, saved tensors) is copied when the pass starts, because
// afterwards the node may be gone. Reading turns addresses into numbers. A node in several passes is recognized by
// address, sequence number and topological number; a leaf by the number of its provenance record, which dies with it.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/ref.h"
#include "core/graph/hooks.h"

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
  Failed,
  Recorded  // an operation of a forward pass made a node
};
const char* name(TraceEvent e);

struct TraceDetails {
  uint64_t other = 0;        // Arrived: address of the producer; Ready: length of the ready queue; hooks: number of the
                             // hook; Recorded: the node's sequence number
  int32_t slot = -1;         // Arrived, Captured, hooks of tensors: input number; Recorded: the call of a module
  int32_t dependencies = 0;  // of the node, remaining after this event; Recorded: the place in the program
};

namespace trace {
// Users of the switch: the trace itself, grad_watch, a program that looks at gradients (observe), and nonfinite.h.
enum Watcher : uint8_t { kRecord = 1, kWatch = 2, kObserve = 4, kFindNonfinite = 8 };
extern std::atomic<uint8_t> watchers;  // atomic: set by one thread, read by all
inline bool on() { return watchers.load(std::memory_order_relaxed) != 0; }
inline bool is_set(Watcher who) { return watchers.load(std::memory_order_relaxed) & who; }
inline bool watching() { return is_set(kWatch); }  // see grad_watch.h
void set_switch(Watcher who, bool on);
uint64_t this_thread();  // a small number that identifies this thread

struct Options {
  bool memory = false;            // the bytes in use by tensors, with each event
  bool forward = false;           // also the operations that record nodes, with their places in the program
  size_t most_events = SIZE_MAX;  // per thread; later events are dropped
};
// Several recordings may run; each gets the events since its start, with what any of them asks for. Returns its number.
int start(Options options);
void record(TraceEvent event, const GraphTask* task, const Node* node, TraceDetails details = {});
// A pass begins or has failed. Copies the graph.
void pass_started(const GraphTask& task, const Node* root, const GraphTask* outer);
void pass_failed(const GraphTask& task, const Node* node, const char* message);
// Called for every node that an operation records, while lines are recorded.
void node_recorded(const Node* node);

// The call of a module that runs on this thread, as a number chosen by the program; -1 for none. Returns the old one.
int32_t set_module(int32_t call);
// The number of the current place in the user's program. Installed by the binding layer.
extern int32_t (*current_place)();

// A function that is called by a hook of a node.
struct HookFunction {
  TraceEvent kind;         // TensorHook to PostHook
  std::string name, line;  // line: file:line, or empty
};
// Lists the functions of a node's hooks. Installed by the binding layer.
extern void (*list_hooks)(const Node* node, std::vector<HookFunction>& to);

// Called with the gradients that reached a node, before its hooks, while kObserve is set. It may replace them, and may
// throw. Installed by the binding layer.
extern void (*observe)(const GraphTask& task, Node* node, std::span<Tensor> grads);
}  // namespace trace

}  // namespace undertow::core
