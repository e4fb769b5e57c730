// accumulate_grad.h: the sink of a leaf: adds what arrives to .grad.
//
// Note [Embedded Accumulator]
// Every graph ends in its leaves' accumulators. Allocating one per graph would cost as much as the operation, so a
// leaf's accumulator is made once and lives as long as the leaf. To keep the leaf alive while a graph needs it, the
// first count on the accumulator takes one on the leaf, and the last gives it back (and drops the node's hooks, which
// in torch die with the node).
#pragma once
#include "core/graph/node.h"

namespace undertow {

class AccumulateGrad final : public NodeWithEdges<0> {
 public:
  explicit AccumulateGrad(TensorImpl* leaf);
  ~AccumulateGrad() override = default;
  UT_NODE_MEMORY(AccumulateGrad)

  void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  std::string name() const override { return "AccumulateGrad"; }
  bool is_accumulate() const override { return true; }
  TensorImpl* leaf() const { return leaf_; }
  void refresh_meta();  // the leaf's shape or dtype was changed through .data, or its gradient's dtype was chosen

 protected:
  void on_first_reference() override;
  void on_last_reference() override;

 private:
  TensorImpl* leaf_;  // not counted here; see Note [Embedded Accumulator]
};

// Adds `grad` to leaf.grad: takes it over when nobody else holds it, copies into the leaf's layout otherwise,
// adds in place when a gradient is there and no graph is being made.
void accumulate_grad(TensorImpl* leaf, Tensor grad);

}  // namespace undertow
