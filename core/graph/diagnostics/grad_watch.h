// grad_watch.h: records whether the gradients of one pass were zero, finite or not, at every node; for explanations.
// Tested together with the trace's switch, so an unwatched pass has no extra cost.
#pragma once
#include <span>
#include <vector>

#include "core/graph/node.h"
#include "core/graph/tensor_ops.h"

namespace undertow::core::grad_watch {

using graph_ops::ValueKind;
struct NodeGrads {
  Ref<Node> node;
  std::vector<ValueKind> arrived;  // the gradients that reached the node
  std::vector<ValueKind> entered;  // the same after the node's hooks
  std::vector<ValueKind> left;     // one per edge
};

// Watches the next pass that starts on this thread. Only one pass is watched at a time.
void start();
std::vector<NodeGrads> stop();  // in the order in which the nodes ran

// Called by the engine while the trace's switch is on.
void begins(const GraphTask* task);
bool is_watched(const GraphTask* task);  // if so, retains-grad hooks do not run
void arrived(const GraphTask* task, Node* node, std::span<const Tensor> grads);
void entered(const GraphTask* task, Node* node, std::span<const Tensor> grads);
void left(const GraphTask* task, Node* node, std::span<const Tensor> grads);

}  // namespace undertow::core::grad_watch
