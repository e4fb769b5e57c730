// accumulate_grad.h: the node at the end of the graph for a leaf: adds the gradient it receives to .grad.
//
// Note [Embedded Accumulator]
// Every graph ends in the accumulators of its leaves. Allocating one per graph would cost as much as the operation, so
// a leaf's accumulator is created once and lives as long as the leaf. To keep the leaf alive while a graph needs it,
// the accumulator owns a reference to the leaf while anyone owns a reference to the accumulator. The last release also
// drops the node's hooks and metadata, which in torch are destroyed with the node. A leaf that becomes another leaf
// (set_) gets a new accumulator; graphs recorded before keep the old one, and their last release deletes it.
#pragma once
#include "core/graph/node.h"

namespace undertow::core {

class AccumulateGrad final : public NodeWithEdges<0> {
 public:
  explicit AccumulateGrad(TensorImpl* leaf);
  UT_NODE_MEMORY(AccumulateGrad)

  void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  std::string name() const override { return "AccumulateGrad"; }
  bool is_accumulate() const override { return true; }
  TensorImpl* leaf() const { return leaf_; }
  void refresh_meta();  // after the leaf's shape or dtype was changed through .data, or its gradient's dtype was set

 protected:
  void on_first_reference() override;
  void on_last_reference() override;

 private:
  TensorImpl* leaf_;  // no reference of its own; see Note [Embedded Accumulator]
};

// Adds `grad` to leaf.grad. A first gradient is kept as it is if nobody else owns it, and otherwise copied into the
// leaf's layout. Later ones are added in place, unless a graph is being recorded.
void accumulate_grad(TensorImpl* leaf, Tensor grad);

// Gives the leaf a new accumulator if a graph uses the one it has.
void retire_accumulator(TensorImpl* leaf);

}  // namespace undertow::core
