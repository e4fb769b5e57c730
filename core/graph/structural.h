// structural.h: nodes that belong to the structure of a graph rather than to an operator.
#pragma once
#include "core/graph/node.h"

namespace undertow::core {

// The start of a pass: sends the root gradients along its edges.
class GraphRoot final : public NodeWithEdgeList {
 public:
  GraphRoot(std::span<const Edge> roots, std::span<const Tensor> grads);
  UT_NODE_MEMORY(GraphRoot)
  void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  std::string name() const override { return "GraphRoot"; }

 private:
  std::vector<Tensor> grads_;
};

// Passes gradients through unchanged; used for an input that the graph does not reach.
class Identity final : public NodeWithEdges<1> {
 public:
  UT_NODE_MEMORY(Identity)
  void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override {
    grad_inputs[0] = std::move(grad_outputs[0]);
  }
  std::string name() const override { return "Identity"; }
};

// Raises when a pass reaches it: for results that have no derivative, or no longer have one.
class ErrorNode final : public NodeWithEdgeList {
 public:
  explicit ErrorNode(std::string message) : message_(std::move(message)) {}
  UT_NODE_MEMORY(ErrorNode)
  void apply(std::span<Tensor> grad_outputs, std::span<Tensor>) override {
    for (const Tensor& g : grad_outputs) UT_CHECK(!g.defined(), message_);
  }
  std::string name() const override { return "Error"; }

 private:
  std::string message_;
};

}  // namespace undertow::core
