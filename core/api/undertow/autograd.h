// autograd.h: derivatives: backward and grad, and everything about the graph: nodes, engine, custom functions, modes.
#pragma once
#include <undertow/autograd/engine.h>
#include <undertow/autograd/forward_ad.h>
#include <undertow/autograd/function.h>
#include <undertow/autograd/grad_mode.h>
#include <undertow/autograd/node.h>
#include <undertow/tensor.h>

namespace undertow::autograd {

using undertow::variable_list;
using Variable = Tensor;

// Adds the derivatives of `tensors` to .grad of the leaves, or of `inputs` only. A missing gradient of a scalar is 1.
// With create_graph the gradients have a history of their own; retain_graph keeps the graph for a further pass.
void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
              optional<bool> retain_graph = nullopt, bool create_graph = false, const variable_list& inputs = {});

// Returns d(outputs)/d(inputs), and leaves .grad alone. The gradient of an input that the outputs do not depend on is
// undefined if allow_unused is set; otherwise it is an error.
variable_list grad(const variable_list& outputs, const variable_list& inputs, const variable_list& grad_outputs = {},
                   optional<bool> retain_graph = nullopt, bool create_graph = false, bool allow_unused = false);

}  // namespace undertow::autograd
