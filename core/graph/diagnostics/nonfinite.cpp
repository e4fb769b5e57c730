// nonfinite.cpp: see nonfinite.h.
#include "core/graph/diagnostics/nonfinite.h"

#include <algorithm>
#include <atomic>
#include <string_view>
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

using graph_ops::ValueKind;

ValueKind worst(const Tensor& t) {
  if (!t.defined() || !is_differentiable(t.dtype()) || !t.numel() || t.impl()->device.is_meta())
    return ValueKind::Finite;
  NoGradGuard no_grad;
  return std::max(graph_ops::classify(t), ValueKind::Finite);
}
ValueKind worst(TensorImpl* t) { return worst(Tensor(Ref<TensorImpl>(t))); }
ValueKind worst(const provenance::Input& in) { return worst(in.tensor); }
template <class List>
ValueKind worst_of(const List& list) {
  ValueKind found = ValueKind::Finite;
  for (const auto& t : list) found = std::max(found, worst(t));
  return found;
}
// A NaN from inputs without one, or an infinity from finite inputs.
template <class Results, class Inputs>
bool is_born(const Results& results, const Inputs& inputs) {
  ValueKind made = worst_of(results);
  return made > ValueKind::Finite && made > worst_of(inputs);
}

// These write numbers that the program gives, such as the infinities of an attention mask.
bool writes_given_numbers(std::string_view operation) {
  for (std::string_view name :
       {"masked_fill", "fill", "full_like", "new_full", "where", "index_fill", "constant_pad_nd"})
    if (operation == name || (operation.ends_with('_') && operation.substr(0, operation.size() - 1) == name))
      return true;
  return false;
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
  if (!is_born(grad_inputs, grads) || found.exchange(true)) return;
  report_node(node, grads, grad_inputs);
}

void computed(const char* operation, std::span<TensorImpl* const> results, std::span<const provenance::Input> inputs) {
  // Within a node the node itself is reported, by leaving().
  if (looking || current_node || inputs.empty() || found.load(std::memory_order_relaxed) || !report_operation) return;
  Looking guard;
  if (!is_born(results, inputs) || writes_given_numbers(operation) || found.exchange(true)) return;
  report_operation(operation, results, inputs);
}

}  // namespace undertow::core::nonfinite
