// input_buffer.h: the gradients that enter a node, summed as they arrive. Works on a TaskSlot; does not know the
// engine.
//
// Note [Fixed Summation Order]
// A sequential pass runs nodes in one fixed order, so adding each contribution as it arrives is deterministic. In a
// parallel pass, contributions arrive in any order. Each slot then keeps a list of (rank of the producer in the
// sequential order, edge, gradient), and sums it in that order when the node becomes ready. Both give the same bits:
// ((a + b) + c) over the same a, b, c.
#pragma once
#include <atomic>
#include <functional>
#include <vector>

#include "core/graph/engine/aggregate.h"
#include "core/graph/node.h"

namespace undertow::core::input_buffer {

// For sequential passes. A node with one input stores the tensor itself in the slot, others an array.
void add(TaskSlot& slot, const Node& node, uint32_t input_nr, Tensor grad);
// Moves the sums out, one per input (undefined if nothing arrived).
void take(TaskSlot& slot, const Node& node, std::span<Tensor> out);
void clear(TaskSlot& slot, const Node& node);
// Reads the sum of one input and leaves it in place; undefined if nothing arrived.
Tensor peek(const TaskSlot& slot, const Node& node, uint32_t input_nr);

// For parallel passes.
struct Contribution {
  uint64_t rank;
  uint32_t edge;
  uint32_t input_nr;
  Tensor grad;
};
struct Shared {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;  // spin lock for list, held only for a push_back
  std::vector<Contribution> list;
};
void add_shared(TaskSlot& slot, Contribution contribution);
// Sums in the fixed order. Calls before_addition(rank, edge of the producer) before each addition. If the terms are
// summed at the end, all these calls come before the sum of their input.
void take_shared(TaskSlot& slot, std::span<Tensor> out, Aggregation how,
                 const std::function<void(uint64_t, uint32_t)>& before_addition);
void clear_shared(TaskSlot& slot);

// a + b, in a's memory if nobody else owns it and no graph is being recorded.
Tensor accumulate(Tensor a, Tensor b);

}  // namespace undertow::core::input_buffer
