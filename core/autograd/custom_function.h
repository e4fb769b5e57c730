// custom_function.h: what becomes of the results of an operation whose derivative a user wrote: history, views,
// tangents. The rules are those of torch.autograd.Function. Knows tensors and nodes; who computes, and in which
// language, it does not.
//
// Note [Results Of Custom Functions]
// A result gets the function's node as its history, with these exceptions. An input that is returned as it is, is not
// given a new history: a view of it is returned instead. An input that the function wrote to (`dirty`) is rebased, as
// by an in-place operator. A result without a derivative has none. A result that is a view may not be written to later:
// the view machinery would replace the user's backward by its own, so such views are marked kViewCustom, or
// kViewMultiOutput where there are several results.
#pragma once
#include <functional>
#include <vector>

#include "core/graph/node.h"

namespace undertow::autograd {

struct CustomCall {
  std::span<const Tensor* const> inputs;  // the tensors among the arguments; node's edges are theirs, in this order
  std::span<const Tensor> raw;            // what forward returned; undefined where that is not a tensor
  std::span<Tensor> results;              // as many: what the caller gets
  std::span<const Tensor> non_differentiable, dirty;
  std::span<const Tensor> saved_in_setup;  // what a separate setup_context saved: it may not save a returned input
  Ref<Node> node;                          // null: nothing is recorded
  Tensor (*whole_view)(const Tensor& t) = nullptr;  // the view that stands for a returned input; null: our own
};

// Fills call.results, and adds one input per result to call.node. Bumps the versions of dirty tensors.
void record_results(CustomCall& call);

// Does an input carry a tangent that forward mode has to follow?
bool carries_tangents(std::span<const Tensor* const> inputs);
// Gives the results the tangents that `jvp` makes of the inputs' (undefined where an input has none). After
// record_results.
using Jvp = std::function<std::vector<Tensor>(std::span<const Tensor> tangents)>;
void carry_tangents(const CustomCall& call, const Jvp& jvp);

}  // namespace undertow::autograd
