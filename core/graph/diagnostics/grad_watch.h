// grad_watch.h: how the gradients of one pass looked on their way: zero, finite, or not; for explanations.
// Rides on the trace's switch, so a pass that nobody watches pays nothing for it.
#pragma once
#include <span>
#include <vector>

#include "core/graph/node.h"
#include "core/graph/tensor_ops.h"

namespace undertow::grad_watch {

using graph_ops::Look;
struct Seen {
  Ref<Node> node;
  std::vector<Look> arrived;  // what reached the node
  std::vector<Look> entered;  // what its hooks made of that
  std::vector<Look> left;     // one for each edge
};

// Watches the next pass that starts on this thread; only one is watched at a time.
void start();
std::vector<Seen> stop();  // in the order in which nodes ran

// Called by the engine while the trace's switch is on.
void begins(const GraphTask* task);
bool is_watched(const GraphTask* task);  // then retained gradients stay as they are
void arrived(const GraphTask* task, Node* node, std::span<const Tensor> grads);
void entered(const GraphTask* task, Node* node, std::span<const Tensor> grads);
void left(const GraphTask* task, Node* node, std::span<const Tensor> grads);

}  // namespace undertow::grad_watch
