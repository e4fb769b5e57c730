// default_engine.cpp: see engine.h.
// build: small
#include <undertow/autograd/engine.h>

#include "core/graph/engine/engine.h"

namespace undertow::autograd {

namespace {

std::vector<core::Edge> core_edges(const edge_list& edges, const char* what) {
  std::vector<core::Edge> out;
  for (size_t i = 0; i < edges.size(); i++) {
    UT_CHECK(edges[i].is_valid(), "Engine::execute: element ", i, " of ", what, " is an invalid edge");
    out.push_back({core::Ref<core::Node>(edges[i].function->core_node()), edges[i].input_nr});
  }
  return out;
}

}  // namespace

Engine& Engine::get_default_engine() {
  static Engine engine;
  return engine;
}

variable_list Engine::execute(const edge_list& roots, const variable_list& inputs, bool keep_graph, bool create_graph,
                              bool accumulate_grad, const edge_list& outputs) {
  UT_CHECK(roots.size() == inputs.size(), "Engine::execute: got ", roots.size(), " roots and ", inputs.size(),
           " gradients");
  std::vector<core::Edge> from = core_edges(roots, "roots"), to = core_edges(outputs, "outputs");
  std::vector<core::Tensor> grads(inputs.begin(), inputs.end());
  return undertow::detail::wrap_list(core::engine::execute(
      from, grads, {.keep_graph = keep_graph, .create_graph = create_graph, .accumulate_grad = accumulate_grad}, to));
}
void Engine::queue_callback(std::function<void()> callback) { core::engine::queue_callback(std::move(callback)); }
bool Engine::is_checkpoint_valid() { return core::engine::is_checkpoint_valid(); }

}  // namespace undertow::autograd
