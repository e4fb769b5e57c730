// evaluate.cpp: see evaluate.h.
#include "core/graph/engine/evaluate.h"

#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/diagnostics/grad_watch.h"
#include "core/graph/diagnostics/nonfinite.h"
#include "core/graph/diagnostics/trace.h"
#include "core/graph/engine/engine.h"
#include "core/graph/tensor_ops.h"

namespace undertow::core {

namespace {

// Runs tensor hooks, then retains-grad hooks, each on its own input. A hook also runs if its tensor got no gradient
// (only other outputs of its node did), as in torch. A leaf's hooks belong to the leaf, not to the node, because they
// outlive a single graph.
void call_tensor_hooks(GraphTask& task, Node* node, std::span<Tensor> grads) {
  uint64_t number = 0;
  auto run = [&](TensorHook& hook, uint32_t i, TraceEvent event) {
    if (trace::on()) trace::record(event, &task, node, {.other = number++, .slot = static_cast<int32_t>(i)});
    Tensor changed = hook.call(grads[i]);
    if (changed.defined()) grads[i] = std::move(changed);
  };
  if (node->is_accumulate()) {
    AutogradMeta* meta = static_cast<AccumulateGrad*>(node)->leaf()->meta;
    auto hooks = meta->hooks;  // a hook may remove itself or add others
    for (auto& hook : hooks) run(*hook, 0, TraceEvent::TensorHook);
  }
  if (NodeExtra* extra = node->extra()) {
    auto hooks = extra->tensor_hooks;
    for (auto& [i, hook] : hooks) run(*hook, i, TraceEvent::TensorHook);
    auto retains = extra->retains_grad_hooks;
    if (UT_UNLIKELY(trace::watching()) && grad_watch::is_watched(&task)) retains.clear();
    for (auto& [i, hook] : retains)
      if (grads[i].defined()) run(*hook, i, TraceEvent::RetainsGradHook);
  }
  if (UT_UNLIKELY(trace::watching())) grad_watch::entered(&task, node, grads);
}

bool has_tensor_hooks(Node* node) {
  if (node->extra() && (!node->extra()->tensor_hooks.empty() || !node->extra()->retains_grad_hooks.empty()))
    return true;
  return node->is_accumulate() && !static_cast<AccumulateGrad*>(node)->leaf()->meta->hooks.empty();
}

void check_for_nan(Node* node, std::span<Tensor> grads) {
  NoGradGuard no_grad;
  for (size_t i = 0; i < grads.size(); i++)
    if (grads[i].defined() && graph_ops::has_nan(grads[i]))
      UT_FAIL("Function '", node->name(), "' returned nan values in its ", i, "th output.");
}

// Runs the node, and frees its saved tensors unless the graph is kept.
void apply_and_release(GraphTask& task, Node* node, std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) {
  bool held = !node->released();
  bool done = UT_UNLIKELY(mode_is(kDispatchMode)) && apply_under_mode && !grad_enabled() &&
              apply_under_mode(node, grad_outputs, grad_inputs);
  if (UT_LIKELY(!done)) node->apply(grad_outputs, grad_inputs);
  if (!task.options.keep_graph) {
    node->release_variables();
    if (node->released()) node->set_freed_by(task.id);  // never for the accumulators of leaves, shared by threads
  }
  if (UT_UNLIKELY(trace::on()) && held && node->released()) trace::record(TraceEvent::Released, &task, node);
}

void call_post_hooks(GraphTask& task, Node* node, std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outputs) {
  for (size_t i = 0; i < grad_inputs.size(); i++)
    if (grad_inputs[i].defined() && node->edges()[i])
      validate_gradient(node->edges()[i].node->input_meta(node->edges()[i].input_nr), grad_inputs[i], i, node);
  auto hooks = node->extra()->post_hooks;
  uint64_t number = 0;
  for (auto& hook : hooks) {
    if (trace::on()) trace::record(TraceEvent::PostHook, &task, node, {.other = number++});
    hook->call(grad_inputs, grad_outputs);
  }
}

void capture(GraphTask& task, Node* node, std::span<Tensor> grads) {
  for (const GraphTask::Capture& c : task.captures) {
    if (c.node != node) continue;
    if (trace::on()) trace::record(TraceEvent::Captured, &task, node, {.slot = static_cast<int32_t>(c.input_nr)});
    if (task.options.sink)
      task.options.sink->captured(c.index, grads[c.input_nr]);
    else
      task.captured[c.index] = grads[c.input_nr];
  }
}

}  // namespace

void (*print_error)(const std::string&) = nullptr;
bool (*apply_under_mode)(Node*, std::span<Tensor>, std::span<Tensor>) = nullptr;

namespace {
// Where warnings are errors, the text is printed: the original failure is already being handled and matters more.
void warn_or_print(const std::string& text) {
  try {
    warn(text);
  } catch (...) {
    if (print_error) print_error(str("UserWarning: ", text, "\n"));
  }
}
void describe_failure(Node* node) {
  NodeOrigin* origin = node->extra() ? node->extra()->origin.get() : nullptr;
  if (!origin) {
    warn_or_print(str(
        "Error detected in ", node->name(),
        ". No forward pass information available. Enable detect anomaly during forward pass for more information."));
    return;
  }
  warn_or_print(str("Error detected in ", node->name(), ". Traceback of forward call that caused the error:\n",
                    origin->describe()));
  for (; origin->parent; origin = origin->parent.get())
    warn_or_print(str("\n\nPrevious calculation was induced by ", origin->parent_name,
                      ". Traceback of forward call that induced the previous calculation:\n",
                      origin->parent->describe()));
}
}  // namespace

void report_failure(Node* node) {
  if (!node || !anomaly_enabled()) return;
  describe_failure(node);
}

bool evaluate_node(GraphTask& task, TaskSlot& slot, Node* node, std::span<Tensor> grad_outputs,
                   std::span<Tensor> grad_inputs) {
  if (UT_UNLIKELY(trace::on())) {
    if (trace::is_set(trace::kObserve)) trace::observe(task, node, grad_outputs);
    trace::record(TraceEvent::Started, &task, node, {.dependencies = slot.dependencies});
    if (trace::watching()) grad_watch::arrived(&task, node, grad_outputs);
    if (trace::is_set(trace::kFindNonfinite)) nonfinite::entering(node, grad_outputs);
  }
  if (UT_UNLIKELY(task.filtered)) {
    // Torch's order: a captured node that also runs is captured before its hooks, one that does not run after them.
    if (!slot.needed && has_tensor_hooks(node)) call_tensor_hooks(task, node, grad_outputs);
    if (slot.captured) capture(task, node, grad_outputs);
    if (!slot.needed) {
      if (UT_UNLIKELY(trace::on())) trace::record(TraceEvent::Finished, &task, node);
      return false;
    }
  }
  NodeExtra* extra = node->extra();
  if (UT_UNLIKELY(extra != nullptr || node->is_accumulate()) && has_tensor_hooks(node))
    call_tensor_hooks(task, node, grad_outputs);
  if (UT_UNLIKELY(extra != nullptr) && !extra->pre_hooks.empty()) {
    auto hooks = extra->pre_hooks;
    uint64_t number = 0;
    for (auto& hook : hooks) {
      if (trace::on()) trace::record(TraceEvent::PreHook, &task, node, {.other = number++});
      hook->call(grad_outputs);
    }
    if (trace::watching()) grad_watch::entered(&task, node, grad_outputs);
  }

  bool has_post = extra && !extra->post_hooks.empty();
  if (UT_UNLIKELY(has_post)) {
    // apply may consume its arguments, but post-hooks need them.
    SmallVector<Tensor, 4> kept(grad_outputs.begin(), grad_outputs.end());
    apply_and_release(task, node, grad_outputs, grad_inputs);
    call_post_hooks(task, node, grad_inputs, kept);
  } else {
    apply_and_release(task, node, grad_outputs, grad_inputs);
    // Registered while the node ran, such as in an unpack hook: what entered the node is no longer there.
    if (UT_UNLIKELY(node->extra() != nullptr) && !node->extra()->post_hooks.empty())
      call_post_hooks(task, node, grad_inputs, {});
  }

  const Edge* edges = node->edges();
  for (size_t i = 0; i < grad_inputs.size(); i++) {
    if (!grad_inputs[i].defined()) continue;
    if (!edges[i]) {
      grad_inputs[i].reset();
      continue;
    }
    const InputMeta& meta = edges[i].node->input_meta(edges[i].input_nr);
    if (UT_UNLIKELY(!meta.matches(*grad_inputs[i].impl()))) validate_gradient(meta, grad_inputs[i], i, node);
  }
  if (UT_UNLIKELY(trace::on())) {
    trace::record(TraceEvent::Finished, &task, node);
    if (trace::watching()) grad_watch::left(&task, node, grad_inputs);
    if (trace::is_set(trace::kFindNonfinite)) nonfinite::leaving(node, grad_inputs);
  }
  if (UT_UNLIKELY(anomaly_enabled()) && (process_mode.load(std::memory_order_relaxed) & kAnomalyNan))
    check_for_nan(node, grad_inputs);
  return true;
}

}  // namespace undertow::core
