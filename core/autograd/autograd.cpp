// autograd.cpp: see autograd.h.
#include "core/autograd/autograd.h"

#include "core/autograd/root_gradient.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/retains_grad.h"
#include "core/graph/structural.h"

namespace undertow::core::autograd {

Edge root_edge(const Tensor& t, size_t index) {
  Edge e = gradient_edge(t);
  UT_CHECK(e, "element ", index, " of tensors does not require grad and does not have a grad_fn");
  return e;
}

Edge input_edge(const Tensor& t) {
  UT_CHECK(t.requires_grad(), "One of the differentiated Tensors does not require grad");
  Edge e = gradient_edge(t);
  if (e) return e;
  return {Ref<Node>::adopt(new Identity), 0};
}

namespace {

std::vector<Tensor> run(const std::vector<Tensor>& roots, const std::vector<Tensor>& grads, ExecuteOptions options,
                        const std::vector<Tensor>& inputs) {
  UT_CHECK(grads.empty() || grads.size() == roots.size(), "got ", roots.size(), " tensors and ", grads.size(),
           " gradients");
  std::vector<Edge> edges;
  std::vector<Tensor> root_grads;
  for (size_t i = 0; i < roots.size(); i++) {
    edges.push_back(root_edge(roots[i], i));
    root_grads.push_back(root_gradient(root_output(roots[i]), grads.empty() ? Tensor() : grads[i], i));
  }
  std::vector<Edge> outputs;
  for (const Tensor& t : inputs) {
    if (options.accumulate_grad) retain_grad(t);
    outputs.push_back(input_edge(t));
  }
  return engine::execute(edges, root_grads, options, outputs);
}

}  // namespace

void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grad_tensors,
              std::optional<bool> retain_graph, bool create_graph, const std::vector<Tensor>& inputs) {
  run(tensors, grad_tensors,
      {.keep_graph = retain_graph.value_or(create_graph), .create_graph = create_graph, .accumulate_grad = true},
      inputs);
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs, std::optional<bool> retain_graph, bool create_graph,
                         bool allow_unused) {
  UT_CHECK_VALUE(!inputs.empty(), "grad requires non-empty inputs.");
  std::vector<Tensor> result =
      run(outputs, grad_outputs,
          {.keep_graph = retain_graph.value_or(create_graph), .create_graph = create_graph, .accumulate_grad = false},
          inputs);
  for (size_t i = 0; i < result.size(); i++)
    UT_CHECK(allow_unused || result[i].defined(),
             "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
             "this is the "
             "desired behavior. The one not used is number ",
             i, " of ", result.size(), ".");
  return result;
}

}  // namespace undertow::core::autograd
