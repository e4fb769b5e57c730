// grad_watch.cpp: see grad_watch.h.
// build: small
#include "core/graph/diagnostics/grad_watch.h"

#include <mutex>
#include <thread>
#include <unordered_map>

#include "core/graph/diagnostics/trace.h"

namespace undertow::core::grad_watch {

namespace {

struct Watch {
  std::thread::id thread;
  const GraphTask* task = nullptr;  // the pass, once it has started
  std::vector<NodeGrads> nodes;
  std::unordered_map<const Node*, size_t> index;
};
std::mutex mutex;  // guards watch; not held while gradients are examined
Watch watch;

std::vector<ValueKind> kinds(std::span<const Tensor> grads) {
  std::vector<ValueKind> out;
  for (const Tensor& g : grads) out.push_back(g.defined() ? graph_ops::classify(g) : ValueKind::Undefined);
  return out;
}

}  // namespace

// The watched pass is the first one on the thread that called start().
void begins(const GraphTask* task) {
  std::lock_guard lock(mutex);
  if (!watch.task && watch.thread == std::this_thread::get_id()) watch.task = task;
}
bool is_watched(const GraphTask* task) {
  std::lock_guard lock(mutex);
  return watch.task == task;
}

void start() {
  std::lock_guard lock(mutex);
  watch = Watch{};
  watch.thread = std::this_thread::get_id();
  trace::set_switch(trace::kWatch, true);
}

std::vector<NodeGrads> stop() {
  trace::set_switch(trace::kWatch, false);
  std::lock_guard lock(mutex);
  std::vector<NodeGrads> nodes = std::move(watch.nodes);
  watch = Watch{};
  return nodes;
}

void arrived(const GraphTask* task, Node* node, std::span<const Tensor> grads) {
  if (!is_watched(task)) return;
  std::vector<ValueKind> found = kinds(grads);
  std::lock_guard lock(mutex);
  watch.index[node] = watch.nodes.size();
  watch.nodes.push_back({Ref<Node>(node), found, found, {}});
}

void entered(const GraphTask* task, Node* node, std::span<const Tensor> grads) {
  if (!is_watched(task)) return;
  std::vector<ValueKind> found = kinds(grads);
  std::lock_guard lock(mutex);
  if (auto at = watch.index.find(node); at != watch.index.end()) watch.nodes[at->second].entered = std::move(found);
}

void left(const GraphTask* task, Node* node, std::span<const Tensor> grads) {
  if (!is_watched(task)) return;
  std::vector<ValueKind> found = kinds(grads);
  std::lock_guard lock(mutex);
  if (auto at = watch.index.find(node); at != watch.index.end()) watch.nodes[at->second].left = std::move(found);
}

}  // namespace undertow::core::grad_watch
