// autograd_meta.h: the autograd state of a tensor beyond its grad_fn, made only when something needs it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/graph/diagnostics/provenance.h"
#include "core/graph/hooks.h"
#include "core/graph/node.h"

namespace undertow {

class AccumulateGrad;

// Rebuilds a view from its base where as_strided cannot (a change of dtype or of the conj bit).
struct ViewFunction {
  virtual ~ViewFunction() = default;
  virtual Tensor replay(const Tensor& base) const = 0;
};

// Which dtype .grad has: the tensor's own, a chosen one, or whichever comes.
struct GradDType {
  enum Choice : uint8_t { Own, Chosen, Any } choice = Own;
  DType dtype = DType::Float32;  // iff Chosen
};

struct AutogradMeta {
  Tensor grad;
  AccumulateGrad* accumulator = nullptr;  // owned; see accumulate_grad.h
  Ref<Node> foreign_accumulator;          // an unpacked stand-in for a saved leaf leads to that leaf
  std::vector<Ref<TensorHook>> hooks;     // a leaf's tensor hooks (a non-leaf's are its node's)
  std::vector<Ref<PostAccumulateHook>> post_accumulate_hooks;
  Ref<TensorHook> retains_grad_hook;
  Ref<Storage> version_holder;  // iff kOwnVersion
  std::shared_ptr<ViewFunction> view_fn;
  Tensor tangent;              // iff kHasTangent
  Ref<Provenance> provenance;  // while it is recorded
  Tensor batched_value;        // iff kBatched; see Note [Batched Tensors] in autograd/batched.h
  int64_t batched_level = -1;
  std::string name;
  GradDType grad_dtype;
  bool has_gradient_history = false;  // known to cycles.h
  void* py_hooks = nullptr;           // Python's dict of hooks, owned through release_metadata
};

AutogradMeta& make_meta(TensorImpl* impl);
inline AutogradMeta& make_meta(const Tensor& t) { return make_meta(t.impl()); }

const Tensor& grad_of(const Tensor& t);  // undefined if there is none
void set_grad(const Tensor& t, Tensor grad);

// The node whose output t is, brought up to date if t is a view whose base was written since; null for a leaf.
Node* grad_fn(const Tensor& t);
// The accumulator of a leaf that requires grad.
Ref<Node> grad_accumulator(const Tensor& leaf);

// Gives t a version counter of its own, starting at zero (what .data does).
void make_own_version(const Tensor& t);

// Recomputes the grad_fn of a view after its base's history changed. Declared here, defined in autograd/views.cpp.
void regenerate_view_grad_fn(const Tensor& view);

}  // namespace undertow
