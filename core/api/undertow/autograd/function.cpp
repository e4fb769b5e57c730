// function.cpp: see function.h.
// build: small
#include <undertow/autograd/function.h>

#include <undertow/types/type_name.h>

#include "core/autograd/custom_function.h"
#include "core/autograd/recording.h"
#include "core/autograd/tangents.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/node.h"
#include "core/graph/saved_fields.h"
#include "core/graph/saved_tensor.h"

namespace undertow::autograd {

namespace detail {

namespace {

// Square of ns::Square: "SquareBackward", as for Functions in Python.
std::string name_of(const std::type_info& type) {
  std::string out = undertow::detail::type_name(type);
  size_t start = out.substr(0, out.find('<')).rfind("::");
  return (start == std::string::npos ? out : out.substr(start + 2)) + "Backward";
}

bool is_any(const core::Tensor& t, const variable_list& list) {
  for (const Tensor& x : list)
    if (x.is_same(t)) return true;
  return false;
}

}  // namespace

struct CustomNode final : core::NodeWithEdgeList {
  UT_NODE_MEMORY(CustomNode)
  CustomNode(const std::type_info& t, BackwardFunction b) : type(t), backward(b) { context.node_ = this; }
  std::string name() const override { return name_of(type); }

  void apply(std::span<core::Tensor> grad_outputs, std::span<core::Tensor> grad_inputs) override {
    variable_list grads(std::make_move_iterator(grad_outputs.begin()), std::make_move_iterator(grad_outputs.end()));
    if (context.materialize_grads_)
      for (uint32_t i = 0; i < grads.size(); i++)
        if (!grads[i].defined()) grads[i] = zeros_for(i);
    variable_list out = backward(&context, std::move(grads));
    size_t expected = is_variable.size();
    for (size_t i = expected; i < out.size(); i++)
      UT_CHECK(!out[i].defined(), "function ", name(), " returned an incorrect number of gradients (expected ",
               expected, ", got ", out.size(), ")");
    UT_CHECK(out.size() >= expected, "function ", name(), " returned an incorrect number of gradients (expected ",
             expected, ", got ", out.size(), ")");
    size_t edge = 0;
    for (size_t i = 0; i < expected; i++) {
      if (is_variable[i])
        grad_inputs[edge++] = std::move(out[i]);
      else
        UT_CHECK(!out[i].defined(), "function ", name(), " returned a gradient different than an undefined tensor at ",
                 "position ", i + 1, ", but the corresponding forward input was not a Variable");
    }
  }
  // Zeros of the shape of a result; undefined if that is no tensor.
  core::Tensor zeros_for(uint32_t result) const {
    auto zeros = [](const core::InputMeta& meta) {
      return core::ops::zeros(meta.sizes(), meta.dtype(), meta.device());
    };
    if (input_meta(result).defined()) return zeros(input_meta(result));
    for (const auto& [i, meta] : plain_results)
      if (i == result) return zeros(meta);
    return {};
  }
  void release_variables() override {
    for (core::SavedTensor& s : saved) s.release();
    mark_released();
  }
  const core::SavedField* saved_fields(size_t* count) const override {
    static const core::SavedField fields[] = {
        {"tensors", UT_OFFSET_IN(CustomNode, saved), core::SavedKind::TensorList}};
    *count = 1;
    return fields;
  }

  const std::type_info& type;
  BackwardFunction backward;
  AutogradContext context;
  std::vector<char> is_variable;  // one for each argument of forward
  std::vector<core::SavedTensor> saved;
  std::vector<std::pair<uint32_t, core::InputMeta>> plain_results;  // tensors without a derivative
};

struct Call::State {
  core::Ref<core::Node> owner;
  CustomNode* node;
  BackwardFunction jvp;
  variable_list inputs;
  bool records = false;
  uint32_t mode = 0;  // of the caller
  bool in_forward = false;
  void leave() {
    if (in_forward) core::thread_mode.bits = mode;
    in_forward = false;
  }
};

Call::Call(const std::type_info& type, BackwardFunction backward, BackwardFunction jvp)
    : state_(std::make_unique<State>()) {
  state_->node = new CustomNode(type, backward);
  state_->owner = core::Ref<core::Node>::adopt(state_->node);
  state_->jvp = jvp;
}
Call::~Call() { state_->leave(); }

void Call::add(const Tensor& t) {
  // An undefined tensor is an argument without a gradient.
  state_->node->is_variable.push_back(t.defined());
  if (t.defined()) state_->inputs.push_back(t);
}
void Call::add_other() { state_->node->is_variable.push_back(false); }

AutogradContext* Call::begin() {
  State& s = *state_;
  bool any = false;
  for (const Tensor& t : s.inputs) any |= t.requires_grad();
  s.records = any && core::grad_enabled();
  s.node->set_num_edges(s.inputs.size());
  if (s.records) {
    for (size_t i = 0; i < s.inputs.size(); i++) s.node->edges()[i] = core::gradient_edge(s.inputs[i]);
    s.node->finish_recording();
    if (core::origins_wanted()) core::ops::attach_origin(s.node);
  }
  s.mode = core::thread_mode.bits;
  s.in_forward = true;
  core::thread_mode.bits |= core::kNoGrad | core::kNoTangents | core::kInFunction;
  return &s.node->context;
}

variable_list Call::finish(variable_list raw) {
  State& s = *state_;
  s.leave();
  AutogradContext& ctx = s.node->context;
  std::vector<const core::Tensor*> inputs;
  for (const Tensor& t : s.inputs) inputs.push_back(&t);
  std::vector<core::Tensor> results(raw.size());
  auto spanned = [](const variable_list& list) { return undertow::detail::span_of(list); };
  core::autograd::CustomCall call{.inputs = inputs,
                                  .raw = spanned(raw),
                                  .results = results,
                                  .non_differentiable = spanned(ctx.non_differentiable_),
                                  .dirty = spanned(ctx.dirty_),
                                  .saved_in_setup = {},
                                  .node = s.records ? s.owner : core::Ref<core::Node>()};
  core::autograd::record_results(call);
  if (s.records) {
    for (uint32_t i = 0; i < results.size(); i++)
      if (results[i].defined() && !s.node->input_meta(i).defined())
        s.node->plain_results.emplace_back(i, core::InputMeta(results[i]));
    s.node->saved.reserve(ctx.to_save_.size());
    for (const Tensor& t : ctx.to_save_) {
      core::SavedTensor& saved = s.node->saved.emplace_back();
      if (!t.defined()) continue;
      bool is_result = false;
      for (const core::Tensor& r : results) is_result |= r.defined() && r.is_same(t);
      if (is_result && t.impl()->grad_fn && (t.impl()->grad_fn == s.node || !is_any(t, s.inputs)))
        saved.save_output(t, s.node);
      else
        saved.save(t, s.node);
    }
  }
  if (core::autograd::carries_tangents(inputs)) {
    if (!s.jvp) core::ops::raise_no_forward_derivative(s.node->name().c_str());
    core::autograd::carry_tangents(call, [&](std::span<const core::Tensor> tangents) {
      variable_list in;
      size_t next = 0;
      for (char is_variable : s.node->is_variable) in.push_back(is_variable ? Tensor(tangents[next++]) : Tensor());
      variable_list out = s.jvp(&ctx, std::move(in));
      return std::vector<core::Tensor>(out.begin(), out.end());
    });
  }
  if (s.records) ctx.to_save_.clear();
  ctx.dirty_.clear();
  ctx.non_differentiable_.clear();
  return undertow::detail::wrap_list(std::move(results));
}

}  // namespace detail

variable_list AutogradContext::get_saved_variables() const {
  auto* node = static_cast<detail::CustomNode*>(node_);
  if (node->saved.empty() && !node->released()) return to_save_;  // in jvp, or when nothing is recorded
  variable_list out;
  if (node->released() && !node->saved.empty()) core::SavedTensor::fail_released(node);
  for (const core::SavedTensor& s : node->saved) out.emplace_back(s.unpack(node));
  return out;
}

bool AutogradContext::needs_input_grad(size_t index) const {
  UT_CHECK_INDEX(index < node_->num_edges(), node_->name(), " has ", node_->num_edges(),
                 " tensor arguments, but needs_input_grad was asked about number ", index);
  return node_->needs(static_cast<uint32_t>(index));
}

}  // namespace undertow::autograd
