// input_buffer.h: gradients on their way into a node, summed as they arrive. Works on a TaskSlot; knows no engine.
//
// Note [Fixed Summation Order]
// A sequential pass runs nodes in one fixed order, so adding each contribution as it arrives is deterministic. In a
// pass over several threads contributions arrive in any order; there each slot keeps a list of (rank of producer in
// the sequential order, edge, gradient) and sums it, in that order, when the node becomes ready. Both give the same
// bits: ((a + b) + c) over the same a, b, c.
#pragma once
#include <atomic>
#include <functional>
#include <vector>

#include "core/graph/engine/aggregate.h"
#include "core/graph/node.h"

namespace undertow::input_buffer {

// Sequential passes. A node of one input keeps the tensor itself in the slot, others an array.
void add(TaskSlot& slot, const Node& node, uint32_t input_nr, Tensor grad);
// Moves the sums out, one per input (undefined where nothing arrived).
void take(TaskSlot& slot, const Node& node, std::span<Tensor> out);
void clear(TaskSlot& slot, const Node& node);
// Without disturbing the sum; undefined if nothing arrived. For captures and traces.
Tensor peek(const TaskSlot& slot, const Node& node, uint32_t input_nr);

// Parallel passes.
struct Contribution {
  uint64_t rank;
  uint32_t edge;
  uint32_t input_nr;
  Tensor grad;
};
struct Shared {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;  // spin lock around list: held for a push_back only
  std::vector<Contribution> list;
};
void add_shared(TaskSlot& slot, Contribution contribution);
// Sums in the fixed order; calls before_addition(rank, edge of the producer) ahead of each addition, or of all of one
// sum where they wait for the last.
void take_shared(TaskSlot& slot, std::span<Tensor> out, Aggregation how,
                 const std::function<void(uint64_t, uint32_t)>& before_addition);
void clear_shared(TaskSlot& slot);

// a + b, in a's memory when nobody else can see it and no graph is being made.
Tensor accumulate(Tensor a, Tensor b);

}  // namespace undertow::input_buffer
