// aggregate.h: the ways to sum the contributions to one gradient, for passes that select one (undertow.train).
// Knows tensors and nodes, but not when to sum.
//
// Note [Ways To Sum]
// By default a pass adds each contribution to the sum as it arrives: one buffer, the least memory. With AddN or Tree,
// the pass keeps all contributions until the last has arrived. AddN then reads them all in one sweep (first to last,
// half types rounded once at the end). Tree adds neighbours in pairs, then their sums in pairs, and so on, so the
// rounding error grows with the logarithm of their number. In all three, the contributions are in the order of
// Note [Fixed Summation Order].
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/tensor/tensor.h"

namespace undertow::core {

class Node;

enum class Aggregation : uint8_t { AsTheyArrive, AddN, Tree };

// The sum of the terms, in this order; at least one term.
Tensor aggregate(Aggregation how, std::span<Tensor> terms);

// The contributions that wait for the last one: all but the first, which is in the node's buffer.
class WaitingTerms {
 public:
  void keep(Node* node, uint32_t input_nr, Tensor grad) { terms_[node].push_back({input_nr, std::move(grad)}); }
  // Adds the contributions that wait for the node to grads, one per input.
  void sum_into(Node* node, std::span<Tensor> grads, Aggregation how);

 private:
  struct Term {
    uint32_t input_nr;
    Tensor grad;
  };
  std::unordered_map<Node*, std::vector<Term>> terms_;
};

namespace graph_ops {
// Sums all terms in one sweep over memory. Defined in a higher layer: autograd/engine_ops.cpp.
Tensor add_n(std::span<const Tensor> terms);
}  // namespace graph_ops

}  // namespace undertow::core
