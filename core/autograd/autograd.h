// autograd.h: backward and grad for C++ programs, with the same checks as in Python.
#pragma once
#include <optional>
#include <vector>

#include "core/graph/engine/engine.h"
#include "core/graph/node.h"
#include "core/tensor/tensor.h"

namespace undertow::core::autograd {

// Accumulates into .grad of the leaves (or only of `inputs`). A missing gradient of a scalar output is 1.
void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grad_tensors = {},
              std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
              const std::vector<Tensor>& inputs = {});

// Returns d(outputs)/d(inputs). For an unused input, undefined if allow_unused is set; otherwise raises.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                         bool create_graph = false, bool allow_unused = false);

// Shared with the binding layer.
Edge root_edge(const Tensor& t, size_t index);  // where a pass over t starts; raises torch's error if it cannot
Edge input_edge(const Tensor& t);               // the edge where the gradient of an input is captured

}  // namespace undertow::core::autograd
