// custom_function.h: gives the results of an operation with a user-defined derivative their history, views and
// tangents, by the rules of torch.autograd.Function. Knows tensors and nodes, but not which language computes.
//
// Note [Results Of Custom Functions]
// A result gets the function's node as its history, with these exceptions. For an input that is returned as it is, a
// view of it is returned instead, so that the input keeps its own history. An input that the function wrote to
// (`dirty`) is rebased, as by an in-place operator. A result without a derivative gets no history. A result that is a
// view must not be written later, because the view machinery would replace the user's backward by its own; such views
// are marked kViewCustom, or kViewMultiOutput if there are several results.
#pragma once
#include <functional>
#include <vector>

#include "core/graph/node.h"

namespace undertow::core::autograd {

struct CustomCall {
  std::span<const Tensor* const> inputs;  // the tensor arguments; the node has one edge for each, in this order
  std::span<const Tensor> raw;            // the results of forward; undefined where a result is not a tensor
  std::span<Tensor> results;              // one for each of raw: what the caller gets
  std::span<const Tensor> non_differentiable, dirty;
  std::span<const Tensor> saved_in_setup;           // by a separate setup_context, which may not save a returned input
  Ref<Node> node;                                   // null: nothing is recorded
  Tensor (*whole_view)(const Tensor& t) = nullptr;  // makes the view that replaces a returned input; null: our own
};

// Fills call.results, and adds one input per result to call.node. Increments the versions of dirty tensors.
void record_results(CustomCall& call);

// True if an input has a tangent that forward mode has to propagate.
bool carries_tangents(std::span<const Tensor* const> inputs);
// Sets the tangents of the results to what `jvp` computes from those of the inputs (undefined where an input has none).
// Call it after record_results.
using Jvp = std::function<std::vector<Tensor>(std::span<const Tensor> tangents)>;
void carry_tangents(const CustomCall& call, const Jvp& jvp);

}  // namespace undertow::core::autograd
