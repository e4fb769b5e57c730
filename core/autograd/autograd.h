// autograd.h: backward and grad for C++ programs, with the checks of their Python namesakes.
#pragma once
#include <optional>
#include <vector>

#include "core/graph/engine/engine.h"
#include "core/graph/node.h"
#include "core/tensor/tensor.h"

namespace undertow::autograd {

// Accumulates into .grad of the leaves (or of `inputs` alone). Missing gradients of scalars are ones.
void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grad_tensors = {},
              std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
              const std::vector<Tensor>& inputs = {});

// Returns d(outputs)/d(inputs); undefined for an unused input if allow_unused, else an error.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
                         bool create_graph = false, bool allow_unused = false);

// Shared with the binding layer.
Edge root_edge(const Tensor& t, size_t index);  // where a pass over t begins, or torch's error
Edge input_edge(const Tensor& t);               // where the gradient of an input is read

}  // namespace undertow::autograd
