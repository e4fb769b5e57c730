// default_engine.cpp: see engine.h, and anomaly mode of grad_mode.h.
// build: small
#include <undertow/autograd/engine.h>
#include <undertow/autograd/grad_mode.h>

#include "core/graph/diagnostics/provenance.h"
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

bool AnomalyMode::is_enabled() { return core::anomaly_enabled(); }
bool AnomalyMode::should_check_nan() { return core::process_mode.load() & core::kAnomalyNan; }
// Set for the process, as in torch: a pass may run on another thread than its forward.
void AnomalyMode::set_enabled(bool enabled, bool check_nan) {
  constexpr uint32_t mine = core::kAnomaly | core::kAnomalyNan;
  core::process_mode.store((core::process_mode.load() & ~mine) | (enabled ? core::kAnomaly : 0u) |
                           (check_nan ? core::kAnomalyNan : 0u));
  core::provenance::adopt_process_mode();
}

}  // namespace undertow::autograd
