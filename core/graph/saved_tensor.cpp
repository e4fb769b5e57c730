// saved_tensor.cpp: see saved_tensor.h.
#include "core/graph/saved_tensor.h"

#include <memory>

#include "core/graph/autograd_meta.h"
#include "core/graph/diagnostics/error_details.h"
#include "core/graph/engine/graph_task.h"
#include "core/graph/forward_level.h"
#include "core/graph/node.h"
#include "core/graph/tensor_ops.h"
#include "core/tensor/layout.h"

namespace undertow::core {

SavedTensorHooks* (*make_default_saved_hooks)() = nullptr;
constinit thread_local Node* packing_node = nullptr;
constinit thread_local Node* enclosing_node = nullptr;

namespace {
// See Note [Dispatched Tensors].
bool is_dispatched(const Tensor& t) { return (t.impl()->flags | thread_mode.bits) & kDispatched; }

Tensor tangent_of(const Tensor& t) {
  return UT_UNLIKELY(t.impl()->has(kHasTangent)) ? t.impl()->meta->tangent : Tensor();
}

Tensor alias_with_tangent(const Tensor& t, const Tensor& tangent) {
  Tensor out = alias(t);
  if (UT_UNLIKELY(tangent.defined())) forward_level::set_tangent(out, tangent);
  return out;
}
}  // namespace

struct SavedTensor::Packed {
  std::unique_ptr<SavedTensorHooks> hooks;
  bool requires_grad = false;
  Edge edge;              // of a saved input: unpack restores its history
  Tensor tangent_holder;  // a small tensor with the saved tensor's tangent, as long as its level is open

  // A copy: hooks may save a copy of the value, so a later write to the tensor is no error.
  void keep_tangent(const Tensor& tangent) {
    tangent_holder = empty(IntSpan(), DType::Bool);
    forward_level::set_tangent(tangent_holder, graph_ops::clone(tangent));
  }
  // What hooks return has its own tangent or, since most hooks do not see tangents, that of what was saved.
  Tensor tangent_for(const Tensor& t) const {
    return tangent_holder.defined() && !t.impl()->has(kHasTangent) ? tangent_of(tangent_holder) : tangent_of(t);
  }
};

void SavedTensor::save_slowly(const Tensor& t, Node* owner, bool is_output) {
  UT_CHECK(
      !t.impl()->has(kInference),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
      "inference mode in computation tracked by autograd. To work around this, you can make a clone to get a normal "
      "tensor and use it in autograd, or use `undertow.no_grad()` instead of `undertow.inference_mode()`.");
  SavedTensorHooks* hooks = make_default_saved_hooks ? make_default_saved_hooks() : nullptr;
  if (hooks) {
    struct Packing {
      Node* saved = packing_node;
      ~Packing() { packing_node = saved; }
    } packing;
    packing_node = owner;
    return pack_with(hooks, t, is_output);
  }
  ModeGuard plain(kSavedHooks, false);
  if (is_output)
    save_output(t);
  else
    save(t);
}

void SavedTensor::save_output(const Tensor& t, Node* owner) {
  if (!t.defined()) return;
  if (UT_UNLIKELY(mode_is(kSavedHooks) || t.impl()->has(kInference))) return save_slowly(t, owner, true);
  Tensor bare = UT_UNLIKELY(is_dispatched(t)) ? graph_ops::detach(t) : alias(t);
  if (UT_UNLIKELY(t.impl()->has(kOwnVersion))) {
    make_meta(bare).version_holder = t.impl()->meta->version_holder;
    bare.impl()->set(kOwnVersion);
  }
  version_ = t.version();
  impl_ = bare.leak();
  output_nr_ = static_cast<uint16_t>(t.impl()->output_nr);
  state_ = State::Output;
}

void SavedTensor::share_tangent(const Tensor& t) {
  if (output_nr_ != static_cast<uint16_t>(t.impl()->output_nr)) return;
  if (state_ == State::HookedOutput) packed_->keep_tangent(t.impl()->meta->tangent);
  if (state_ != State::Output) return;
  forward_level::set_tangent(Tensor(Ref<TensorImpl>(impl_)), t.impl()->meta->tangent);
}

void SavedTensor::pack_with(SavedTensorHooks* hooks, const Tensor& t, bool is_output) {
  auto p = std::make_unique<Packed>();
  p->hooks.reset(hooks);
  p->requires_grad = t.requires_grad();
  if (!is_output) p->edge = gradient_edge(t);
  if (Tensor tangent = tangent_of(t); UT_UNLIKELY(tangent.defined())) p->keep_tangent(tangent);
  version_ = t.version();
  output_nr_ = static_cast<uint16_t>(t.impl()->output_nr);
  {
    NoGradGuard no_grad;
    // Hooks get an input itself, so that they can recognize a Parameter. For an output that would keep its own node
    // alive.
    p->hooks->pack(is_output ? alias(t) : t);
  }
  packed_ = p.release();
  state_ = is_output ? State::HookedOutput : State::Hooked;
}

void SavedTensor::visit_packed(PackedVisitor visit, void* context) const {
  if (has_hooks()) packed_->hooks->visit_packed(visit, context);
}

void SavedTensor::register_hooks(SavedTensorHooks* hooks) {
  std::unique_ptr<SavedTensorHooks> guard(hooks);
  UT_CHECK(state_ != State::Released,
           "Calling register_hooks on a saved tensor after it has been freed. "
           "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad().");
  UT_CHECK(state_ != State::Empty, "Calling register_hooks on a saved tensor with value None is forbidden");
  UT_CHECK(!has_hooks(),
           "Calling register_hooks on a saved tensor whose hooks have already been set. "
           "Hint: only one pair of hooks is allowed at a time.");
  bool is_output = state_ == State::Output;
  Tensor t = Tensor::adopt(impl_);
  impl_ = nullptr;
  state_ = State::Empty;
  uint32_t version = version_;
  uint16_t nr = output_nr_;
  pack_with(guard.release(), t, is_output);
  version_ = version;
  output_nr_ = nr;
}

Tensor SavedTensor::as_output(const Tensor& data, Node* owner) const {
  bool dispatched = is_dispatched(data);  // torch unpacks an output by detach(), which a __torch_dispatch__ sees
  if (!grad_enabled() && !dispatched) return data;
  Tensor t = dispatched ? graph_ops::detach(data) : alias(data);
  if (!grad_enabled()) return t;
  if (UT_UNLIKELY(data.impl()->has(kHasTangent))) forward_level::set_tangent(t, data.impl()->meta->tangent);
  if (!is_differentiable(t.dtype())) return t;
  if (UT_UNLIKELY(enclosing_node && enclosing_node->inner_node() == owner)) {
    enclosing_node->give_history_to_inner_result(t);
  } else {
    owner->retain();
    t.impl()->grad_fn = owner;
    t.impl()->output_nr = output_nr_;
    t.impl()->set(kRequiresGrad);
  }
  return t;
}

Tensor SavedTensor::unpack(Node* owner) const {
  switch (state_) {
    case State::Empty:
      return {};
    case State::Released:
      fail_released(owner);
    case State::Original: {
      Tensor t{Ref<TensorImpl>(impl_)};
      // As in torch, a tensor that was written so that it has a history again only has the wrong version.
      if (UT_UNLIKELY(t.version() != version_) && t.impl()->grad_fn) fail_version(owner, t, t.version());
      if (UT_UNLIKELY(t.impl()->has(kDetachedInPlace))) check_not_detached(owner, *t.impl());
      if (UT_UNLIKELY(t.version() != version_)) fail_version(owner, t, t.version());
      return t;
    }
    case State::Output: {
      Tensor t{Ref<TensorImpl>(impl_)};
      if (UT_UNLIKELY(t.version() != version_)) fail_version(owner, t, t.version());
      return as_output(t, owner);
    }
    case State::Hooked:
    case State::HookedOutput: {
      // No version check, as in torch: the hooks decide what a later write to the original means.
      Tensor t = packed_->hooks->unpack();
      Tensor tangent = packed_->tangent_for(t);
      if (state_ == State::HookedOutput) return as_output(alias_with_tangent(t, tangent), owner);
      if (!packed_->requires_grad || !grad_enabled()) return tangent.defined() ? alias_with_tangent(t, tangent) : t;
      Tensor with_history = alias_with_tangent(t, tangent);
      if (packed_->edge && !packed_->edge.node->is_accumulate()) {
        packed_->edge.node->retain();
        with_history.impl()->grad_fn = packed_->edge.node.get();
        with_history.impl()->output_nr = packed_->edge.input_nr;
        with_history.impl()->set(kRequiresGrad);
        return with_history;
      }
      if (packed_->edge) {  // a leaf: the unpacked tensor replaces it and has the same accumulator
        make_meta(with_history).foreign_accumulator = packed_->edge.node;
        with_history.impl()->set(kRequiresGrad);
        return with_history;
      }
      return t;
    }
  }
  __builtin_unreachable();
}

void SavedTensor::clear() {
  if (state_ == State::Original || state_ == State::Output) impl_->release();
  if (has_hooks()) delete packed_;
  impl_ = nullptr;
  state_ = State::Empty;
}

void SavedTensor::fail_released(Node* owner) {
  std::string facts;
  if (owner) {
    std::string path = error_details::path_to(owner);
    facts = str("The freed node is ", owner->name(), error_details::recorded_at_text(*owner),
                error_details::freed_by_text(*owner), path.empty() ? "" : str("; this pass reached it through ", path),
                ".");
  }
  UT_FAIL(
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
      "been "
      "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
      "retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
      "tensors "
      "after calling backward. ",
      facts);
}

uint32_t history_mark(const Node* node, uint32_t output_nr) {
  auto address = reinterpret_cast<uintptr_t>(node);
  uint64_t mixed = (address >> 4) * 0x9E3779B97F4A7C15u + node->sequence_nr() * 0xC2B2AE3D27D4EB4Fu + output_nr;
  return static_cast<uint32_t>(mixed >> 32);
}

// A node that saved t before t was detached in place has an edge to what was t's history; one that saved it afterwards
// has none.
void SavedTensor::check_not_detached(const Node* owner, const TensorImpl& t) {
  if (t.has(kIsView) || !owner || !current_graph_task) return;
  for (const Edge& e : owner->next_edges())
    UT_CHECK(
        !e.node || history_mark(e.node.get(), e.input_nr) != t.attr_version,
        "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, "
        "please use out-of-place `.detach()` instead. ",
        owner->name(), " saved it, with shape ", ShapeText{t.sizes()});
}

namespace {
// "Add" for AddBackward0, "Sum1" for SumBackward1, as in torch's messages.
std::string operation_of(const Node& node) {
  std::string name = node.name();
  size_t at = name.rfind("Backward");
  if (at == std::string::npos || at == 0) return name;
  name.erase(at, 8);
  if (name.size() == at + 1 && name.back() == '0') name.pop_back();
  return name;
}
}  // namespace

void SavedTensor::fail_version(Node* owner, const Tensor& t, uint32_t now) const {
  std::string what = str("undertow.", long_name(t.dtype()), "Tensor ", ShapeText{t.sizes()});
  std::string whose;
  if (state_ == State::Output) {
    whose = str(", which is output ", int{output_nr_}, " of ", operation_of(*owner), ",");
  } else if (t.impl()->grad_fn) {
    whose = str(", which is output ", t.impl()->output_nr, " of ", operation_of(*t.impl()->grad_fn), ",");
  }
  UT_FAIL("one of the variables needed for gradient computation has been modified by an inplace operation: [", what,
          "]", whose, " is at version ", now, "; expected version ", version_, " instead. It was saved by ",
          owner->name(), error_details::recorded_at_text(*owner),
          error_details::last_write_text(*t.impl()->version_holder()), ". ",
          anomaly_enabled()
              ? "Hint: the backtrace further above shows the operation that failed to compute its gradient. The "
                "variable in question was changed in there or anywhere later. Good luck!"
              : "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
                "undertow.autograd.set_detect_anomaly(True).");
}

}  // namespace undertow::core
