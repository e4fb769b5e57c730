// autograd_meta.h: the autograd state of a tensor other than its grad_fn, allocated only when needed.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/graph/diagnostics/provenance.h"
#include "core/graph/hooks.h"
#include "core/graph/node.h"

namespace undertow::core {

class AccumulateGrad;

// Recomputes a view from its base where as_strided cannot (a change of dtype or of the conj bit).
struct ViewFunction {
  virtual ~ViewFunction() = default;
  virtual Tensor replay(const Tensor& base) const = 0;
};

// The dtype of .grad: the tensor's own, a chosen one, or that of the gradient that arrives.
struct GradDType {
  enum Choice : uint8_t { Own, Chosen, Any } choice = Own;
  DType dtype = DType::Float32;  // iff Chosen
};

struct AutogradMeta {
  Tensor grad;
  AccumulateGrad* accumulator = nullptr;  // owned; see accumulate_grad.h
  Ref<Node> foreign_accumulator;          // set on an unpacked copy of a saved leaf: the accumulator of that leaf
  std::vector<Ref<TensorHook>> hooks;     // tensor hooks of a leaf (those of a non-leaf are in its node)
  std::vector<Ref<PostAccumulateHook>> post_accumulate_hooks;
  Ref<TensorHook> retains_grad_hook;
  Ref<Storage> version_holder;  // iff kOwnVersion
  std::shared_ptr<ViewFunction> view_fn;
  Tensor tangent;              // iff kHasTangent
  Ref<Provenance> provenance;  // while provenance is recorded
  Tensor batched_value;        // iff kBatched; see Note [Batched Tensors] in autograd/delegated/batched.h
  int64_t batched_level = -1;
  std::string name;
  GradDType grad_dtype;
  bool has_gradient_history = false;  // in the set of suspects of cycles.h
  void* py_hooks = nullptr;           // Python's dict of hooks; owned, freed by release_node_metadata
};

AutogradMeta& make_meta(TensorImpl* impl);
inline AutogradMeta& make_meta(const Tensor& t) { return make_meta(t.impl()); }

const Tensor& grad_of(const Tensor& t);  // undefined if there is no gradient
void set_grad(const Tensor& t, Tensor grad);

// The node that computed t, or null for a leaf. If t is a view and its base was written since, its node is recomputed
// first.
Node* grad_fn(const Tensor& t);
// The accumulator of a leaf that requires grad.
Ref<Node> grad_accumulator(const Tensor& leaf);

// Gives t its own version counter, starting at zero (what .data does).
void make_own_version(const Tensor& t);

// Recomputes the grad_fn of a view after its base's history changed. Declared here, defined in autograd/views.
void regenerate_view_grad_fn(const Tensor& view);

}  // namespace undertow::core
