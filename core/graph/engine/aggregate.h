// aggregate.h: how the contributions to one gradient are summed, for passes that choose (undertow.train).
// Knows tensors and nodes; not when a sum is due.
//
// Note [Ways To Sum]
// A pass usually adds each contribution to the sum as it arrives: one buffer, the least memory. One that chooses AddN
// or Tree keeps them all until the last is there. AddN then reads them all in one sweep (first to last, half types
// rounded once at the end); Tree adds neighbours in pairs, then the sums in pairs: the rounding error grows with the
// logarithm of their number. The order of the contributions is that of Note [Fixed Summation Order] in all three.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/tensor/tensor.h"

namespace undertow {

class Node;

enum class Aggregation : uint8_t { AsTheyArrive, AddN, Tree };

// The sum of what arrived, in that order; at least one term.
Tensor aggregate(Aggregation how, std::span<Tensor> terms);

// What waits for the last contribution: all but the first, which lies in the node's buffer.
class WaitingTerms {
 public:
  void keep(Node* node, uint32_t input_nr, Tensor grad) { terms_[node].push_back({input_nr, std::move(grad)}); }
  // Adds what waits for the node to grads, one per input.
  void sum_into(Node* node, std::span<Tensor> grads, Aggregation how);

 private:
  struct Term {
    uint32_t input_nr;
    Tensor grad;
  };
  std::unordered_map<Node*, std::vector<Term>> terms_;
};

namespace graph_ops {
// All terms in one sweep over memory. Defined above, in autograd/engine_ops.cpp.
Tensor add_n(std::span<const Tensor> terms);
}  // namespace graph_ops

}  // namespace undertow
