// nonfinite.cpp: see nonfinite.h.
#include "core/graph/diagnostics/nonfinite.h"

#include <atomic>
#include <vector>

#include "core/graph/diagnostics/trace.h"
#include "core/graph/engine/graph_task.h"
#include "core/graph/tensor_ops.h"

namespace undertow::core::nonfinite {

void (*report_node)(Node*, std::span<const Tensor>, std::span<const Tensor>) = nullptr;
void (*report_operation)(const char*, std::span<TensorImpl* const>, std::span<const provenance::Input>) = nullptr;

namespace {

std::atomic<bool> found{false};  // atomic: several threads may look; the first to find reports

// What entered the nodes that run on this thread, the innermost of nested passes last. A node that failed stays here
// until an outer one has run.
struct Entered {
  const Node* node;
  std::vector<Tensor> grads;
};
thread_local std::vector<Entered> entered;
thread_local bool looking = false;  // a look runs operations too

struct Looking {
  Looking() { looking = true; }
  ~Looking() { looking = false; }
};

bool is_finite(const Tensor& t) {
  if (!t.defined() || !is_differentiable(t.dtype()) || !t.numel() || t.impl()->device.is_meta()) return true;
  NoGradGuard no_grad;
  return graph_ops::classify(t) <= graph_ops::ValueKind::Finite;
}
bool are_finite(std::span<const Tensor> list) {
  for (const Tensor& t : list)
    if (!is_finite(t)) return false;
  return true;
}
bool are_finite(std::span<TensorImpl* const> list) {
  for (TensorImpl* t : list)
    if (!is_finite(Tensor(Ref<TensorImpl>(t)))) return false;
  return true;
}
bool are_finite(std::span<const provenance::Input> list) {
  for (const provenance::Input& in : list)
    if (!is_finite(Tensor(Ref<TensorImpl>(in.tensor)))) return false;
  return true;
}

}  // namespace

void start() {
  found = false;
  trace::set_switch(trace::kFindNonfinite, true);
}
void stop() {
  trace::set_switch(trace::kFindNonfinite, false);
  entered.clear();
}

void entering(const Node* node, std::span<const Tensor> grad_outputs) {
  // An accumulator makes no gradient, and steals the one it gets if nobody else has it.
  if (looking || found.load(std::memory_order_relaxed) || node->is_accumulate()) return;
  entered.push_back({node, {grad_outputs.begin(), grad_outputs.end()}});
}

void leaving(Node* node, std::span<const Tensor> grad_inputs) {
  while (!entered.empty() && entered.back().node != node) entered.pop_back();
  if (entered.empty() || looking) return;
  std::vector<Tensor> grads = std::move(entered.back().grads);
  entered.pop_back();
  Looking guard;
  if (are_finite(grad_inputs) || !are_finite(std::span<const Tensor>(grads)) || found.exchange(true)) return;
  report_node(node, grads, grad_inputs);
}

void computed(const char* operation, std::span<TensorImpl* const> results, std::span<const provenance::Input> inputs) {
  // Within a node the node itself is reported, by leaving().
  if (looking || current_node || found.load(std::memory_order_relaxed) || !report_operation) return;
  Looking guard;
  if (are_finite(results) || !are_finite(inputs) || found.exchange(true)) return;
  report_operation(operation, results, inputs);
}

}  // namespace undertow::core::nonfinite
