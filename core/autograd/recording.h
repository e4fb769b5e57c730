// recording.h: the steps of generated recorders: flags, nodes, edges, saving, views, in-place.
// Included by generated code only.
#pragma once
#include "core/autograd/delegated/delegated.h"
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/delegated/observers.h"
#include "core/autograd/op_types.h"
#include "core/autograd/tangents.h"
#include "core/autograd/views/inplace.h"
#include "core/forward/copy/copy.h"
#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/node.h"
#include "core/graph/saved_fields.h"
#include "core/graph/saved_tensor.h"
#include "core/graph/tensor_ops.h"

namespace undertow::core::ops {

// Flags of an input. A view also requires grad, and has a tangent, if its base does.
UT_HOT_INLINE uint32_t flags_of(const Tensor& t) {
  if (UT_UNLIKELY(!t.defined())) return 0;
  uint32_t f = t.impl()->flags;
  if (UT_UNLIKELY(f & kIsView)) f |= t.impl()->base->flags & (kRequiresGrad | kHasTangent);
  return f;
}
inline uint32_t flags_of(TensorSpan list) {
  uint32_t f = 0;
  for (const Tensor& t : list) f |= flags_of(t);
  return f;
}
// kDispatched if a __torch_dispatch__ mode is active: to be combined with the flags of the arguments.
UT_HOT_INLINE uint32_t dispatch_mode() { return thread_mode.bits & kDispatchMode; }
UT_HOT_INLINE bool requires_grad(const Tensor& t) { return flags_of(t) & kRequiresGrad; }
inline bool requires_grad(TensorSpan t) { return flags_of(t) & kRequiresGrad; }
inline bool any_requires_grad(const Tensor& t) { return flags_of(t) & kRequiresGrad; }
inline bool any_requires_grad(TensorSpan t) { return flags_of(t) & kRequiresGrad; }
UT_HOT_INLINE bool has_tangents(uint32_t flags) { return UT_UNLIKELY(flags & kHasTangent) && !mode_is(kNoTangents); }
UT_HOT_INLINE bool wants_record(uint32_t flags) { return (flags & kRequiresGrad) && grad_enabled(); }
// Raises for an argument that is declared constant in the table but requires grad.
[[noreturn]] void raise_not_differentiable(const char* name, const char* argument);

// Raises unless all operands are on one device; a zero-dimensional CPU tensor may be combined with any device.
class DeviceCheck {
 public:
  explicit DeviceCheck(const char* name) : name_(name) {}
  void add(const Tensor& t);
  void add(TensorSpan list) {
    for (const Tensor& t : list) add(t);
  }

 private:
  [[noreturn]] void fail(Device other) const;
  const char* name_;
  Device seen_;
  bool any_ = false;
};
template <class... Tensors>
[[gnu::cold, gnu::noinline]] void check_one_device(const char* name, const Tensors&... operands) {
  DeviceCheck check(name);
  (check.add(operands), ...);
}

// Applies the conj and neg bits to the elements. This is recorded, so that gradients flow.
Tensor resolve_conj_neg(const Tensor& t);
std::vector<Tensor> resolve_conj_neg(TensorSpan list);

// Owns a new node until its first result owns it.
class NodeGuard {
 public:
  explicit NodeGuard(Node* n) : node_(Ref<Node>::adopt(n)) {}
  const Ref<Node>& ref() const { return node_; }
  // For nodes with one result: transfers the only reference to it.
  UT_HOT_INLINE void give_to(const Tensor& result) {
    TensorImpl* impl = result.impl();
    node_->set_only_input(result);
    impl->output_nr = 0;
    if (UT_UNLIKELY(impl->grad_fn != nullptr)) release_node(impl->grad_fn);
    impl->grad_fn = node_.leak();
    impl->flags |= kRequiresGrad;
  }

 private:
  Ref<Node> node_;
};

// Sets the node of a new edge. `flags` are flags_of(t).
UT_HOT_INLINE void set_edge(Edge& e, const Tensor& t, uint32_t flags) {
  if (!(flags & kRequiresGrad)) return;
  TensorImpl* impl = t.impl();
  if (UT_LIKELY(!(flags & kIsView))) {
    if (impl->grad_fn) {
      ::new (&e.node) Ref<Node>(impl->grad_fn);
      e.input_nr = impl->output_nr;
      return;
    }
    AutogradMeta* meta = impl->meta;
    if (UT_LIKELY(meta && meta->accumulator && !meta->foreign_accumulator)) {
      ::new (&e.node) Ref<Node>(meta->accumulator);
      return;
    }
  }
  e = gradient_edge(t);
}
inline Edge edge_of(const Tensor& t) {
  Edge e;
  set_edge(e, t, flags_of(t));
  return e;
}

// The form in which a node stores an argument.
template <class T>
const T& to_saved(const T& v) {
  return v;
}
inline Dims to_saved(IntSpan s) { return Dims(s.begin(), s.end()); }
inline std::optional<Dims> to_saved(const std::optional<IntSpan>& s) {
  return s ? std::optional<Dims>(Dims(s->begin(), s->end())) : std::nullopt;
}
inline std::string to_saved(std::string_view s) { return std::string(s); }
inline std::optional<std::string> to_saved(const std::optional<std::string_view>& s) {
  return s ? std::optional<std::string>(std::string(*s)) : std::nullopt;
}
// True for a column-major matrix; its gradient should be column-major too.
inline bool is_column_major(const Tensor& t) {
  return t.dim() == 2 && t.stride(0) == 1 && t.stride(1) == t.size(0) && t.size(0) > 1 && t.size(1) > 1;
}
std::vector<Dims> all_sizes(TensorSpan list);
std::vector<DType> all_dtypes(TensorSpan list);

void save_list(std::vector<SavedTensor>& to, TensorSpan list, Node* owner);
std::vector<Tensor> unpack_list(const std::vector<SavedTensor>& list, Node* owner);
// Moves the gradients of a list argument to their positions.
void assign_list(Node& node, std::span<Tensor> grad_inputs, size_t first, std::vector<Tensor> grads);

inline bool none_defined(std::span<Tensor> grads) {
  for (const Tensor& g : grads)
    if (g.defined()) return false;
  return true;
}
// Zeros with the shape, dtype and device of a gradient.
inline Tensor zeros_for(const InputMeta& meta) { return fwd::zeros(meta.sizes(), meta.dtype(), meta.device()); }
// Replaces undefined gradients by zeros.
void materialize(std::span<Tensor> grads, const Node& node);

void set_history_if_float(const Tensor& result, const Ref<Node>& node);

// Makes results views of `self`; see Note [Views And In-place] in inplace.h.
inline void as_view_of(const Tensor& self, const Tensor& result, uint32_t creation = 0) {
  make_view(self, result, creation);
}
void as_view_of(const Tensor& self, const std::vector<Tensor>& results, uint32_t creation = 0);

// Records where the node was created, for anomaly mode and line recording.
void attach_origin(Node* node);

// out= variants.
void check_out(const Tensor& out, const char* name, uint32_t input_flags);
void check_separate(const Tensor& out);  // for operators whose out= must not overlap itself or an argument
void check_separate(const Tensor& out, IntSpan sizes, const Tensor& in);
void check_separate(const Tensor& out, IntSpan sizes, TensorSpan in);
void check_out_dtype(const Tensor& out, DType result,
                     const char* message = nullptr);  // for operators that do not convert into out=
void write_out(const Tensor& out, const Tensor& result);
inline void write_outs(const Tensor& out, const Tensor& result) { write_out(out, result); }
template <class... R, class... O>
void write_outs_tuple(const std::tuple<R...>& results, const O&... outs) {
  std::apply([&](const R&... r) { (write_out(outs, r), ...); }, results);
}
inline void write_outs(const Tensor& o0, const Tensor& o1, const std::tuple<Tensor, Tensor>& r) {
  write_outs_tuple(r, o0, o1);
}
inline void write_outs(const Tensor& o0, const Tensor& o1, const Tensor& o2,
                       const std::tuple<Tensor, Tensor, Tensor>& r) {
  write_outs_tuple(r, o0, o1, o2);
}

}  // namespace undertow::core::ops
