// node.h: one recorded operation: how its gradients are computed, and which nodes they go to.
// Knows edges, metadata and hooks; not how or where it is run (engine.h).
//
// Note [Graph Ownership]
// A tensor owns its grad_fn. A node owns its next edges and its saved tensors. A leaf's accumulator belongs to the
// leaf's metadata; while any edge points to it, it owns one reference to the leaf (see accumulate_grad.h). An output
// saved by its own node is saved as an alias without a grad_fn. A node has no pointer to its consumers.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/object_pool.h"
#include "core/base/ref.h"
#include "core/graph/hooks.h"
#include "core/tensor/mode.h"
#include "core/tensor/tensor.h"

namespace undertow::core {

class Node;
class GraphTask;
struct SavedField;

struct Edge {
  Ref<Node> node;
  uint32_t input_nr = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
  bool operator==(const Edge& o) const { return node == o.node && input_nr == o.input_nr; }
};

// Shape, dtype and device of one forward output, which is one gradient input of its node. 24 bytes.
class InputMeta {
 public:
  InputMeta() = default;
  explicit InputMeta(const Tensor& t) { set(t.sizes(), t.dtype(), t.impl()->device); }
  InputMeta(InputMeta&& o) noexcept { *this = std::move(o); }
  InputMeta& operator=(InputMeta&& o) noexcept;
  ~InputMeta() { clear(); }
  void set(IntSpan sizes, DType dtype, Device device) {
    clear();
    set_fresh(sizes, dtype, device);
  }
  // The same, if nothing was set before.
  UT_HOT_INLINE void set_fresh(IntSpan sizes, DType dtype, Device device) {
    dtype_ = dtype;
    device_ = device;
    defined_ = true;
    ndim_ = static_cast<uint8_t>(sizes.size());
    if (UT_UNLIKELY(ndim_ > kInline)) heap_ = static_cast<int64_t*>(pool_alloc(ndim_ * sizeof(int64_t)));
    int64_t* to = ndim_ > kInline ? heap_ : inline_;
    for (size_t i = 0; i < sizes.size(); i++) to[i] = sizes[i];
  }
  bool defined() const { return defined_; }
  // True if a leaf accepts gradients of any dtype; see grad_dtype of AutogradMeta.
  bool any_dtype() const { return any_dtype_; }
  void set_any_dtype(bool on) { any_dtype_ = on; }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  IntSpan sizes() const { return {ndim_ <= kInline ? inline_ : heap_, ndim_}; }
  // The common case of validation: same shape, dtype and device.
  bool matches(const TensorImpl& t) const {
    if (t.dtype != dtype_ || t.ndim != ndim_ || t.device != device_) return false;
    const int64_t *a = ndim_ <= kInline ? inline_ : heap_, *b = t.sizes_ptr();
    for (int i = 0; i < ndim_; i++)
      if (a[i] != b[i]) return false;
    return true;
  }

 private:
  void clear() {
    if (ndim_ > kInline) pool_free(heap_, ndim_ * sizeof(int64_t));
  }
  static constexpr int kInline = 2;
  DType dtype_ = DType::Float32;
  uint8_t ndim_ = 0;
  Device device_;
  bool defined_ = false;
  bool any_dtype_ = false;
  union {
    int64_t inline_[kInline];
    int64_t* heap_;
  };
};

// The state of one graph task for one node: in the node itself, or in the task's map if another task owns the node's
// slot.
struct TaskSlot {
  std::atomic<GraphTask*> owner{nullptr};  // atomic: two threads may start backward on one graph at the same time
  int32_t dependencies = 0;                // gradients that have not arrived yet
  bool visited = false;
  bool needed = false;     // passes for chosen inputs: a gradient below the node is wanted
  bool captured = false;   // passes for chosen inputs: the gradient that enters the node is wanted
  void* buffer = nullptr;  // gradients that have arrived; used only by input_buffer.h
};

// Rarely needed parts of a node.
struct NodeExtra {
  std::vector<InputMeta> more_metas;                                     // inputs 1..
  std::vector<std::pair<uint32_t, Ref<TensorHook>>> tensor_hooks;        // in order of registration
  std::vector<std::pair<uint32_t, Ref<TensorHook>>> retains_grad_hooks;  // run after tensor_hooks
  std::vector<Ref<NodePreHook>> pre_hooks;
  std::vector<Ref<NodePostHook>> post_hooks;
  void* pyobj = nullptr;     // the Python wrapper; borrowed, because the wrapper owns the node
  void* metadata = nullptr;  // Python dict; owned, freed by release_node_metadata
  Ref<NodeOrigin> origin;    // where the node was recorded (anomaly mode, tracing)
};
// Declared here, defined by the binding layer.
extern void (*release_node_metadata)(void* metadata);

class SavedTensor;
using SavedVisitor = void (*)(void* context, const char* name, TensorImpl* tensor);
using KeptVisitor = void (*)(void* context, const char* name, const SavedTensor& saved);

class Node {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Computes grad_inputs (one per edge, initially undefined) from grad_outputs (one per forward output, may be
  // undefined). May consume grad_outputs. Skips gradients for which needs() is false.
  virtual void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) = 0;
  virtual std::string name() const = 0;
  virtual void release_variables() {}
  virtual bool is_accumulate() const { return false; }
  // Calls visit(saved) for each saved tensor in any state, including packed and released ones. The default uses
  // saved_fields.
  virtual void visit_kept(KeptVisitor visit, void* context) const;
  // Calls visit(tensor) for each of them that keeps a tensor alive; for cycle collection and reports.
  void visit_saved(SavedVisitor visit, void* context) const;
  // A node that this one owns and runs itself (CopySlices). visit_kept then visits the saved tensors of that node.
  virtual Node* inner_node() const { return nullptr; }
  // Gives `result`, which the inner node saved as its own result, its history: a part of what this node made. See Note
  // [Saved Outputs].
  virtual void give_history_to_inner_result(const Tensor& result) { (void)result; }
  // The saved values by name, for `_saved_*`; see saved_fields.h.
  virtual const SavedField* saved_fields(size_t* count) const {
    *count = 0;
    return nullptr;
  }
  Device device() const { return meta_.device(); }
  // True if a thread of its device runs the node. The calling thread runs CPU nodes and nodes of tensors without
  // memory.
  bool has_device_thread() const { return UT_UNLIKELY(!device().is_cpu()) && !device().is_meta(); }

  uint32_t num_edges() const { return num_edges_; }
  Edge* edges() { return heap_edges_ ? *reinterpret_cast<Edge**>(this + 1) : reinterpret_cast<Edge*>(this + 1); }
  const Edge* edges() const { return const_cast<Node*>(this)->edges(); }
  std::span<const Edge> next_edges() const { return {edges(), num_edges_}; }
  // Does the running pass need the gradient of edge i? Outside a pass, true for every valid edge.
  bool needs(uint32_t i) const {
    if (!edges()[i].node) return false;
    return UT_LIKELY(!mode_is(kFilteredPass)) || pass_needs(i);
  }

  // Inputs (the forward outputs).
  uint32_t num_inputs() const { return num_inputs_; }
  // For a new node with one output: sets its input 0.
  UT_HOT_INLINE void set_only_input(const Tensor& output) {
    num_inputs_ = 1;
    meta_.set_fresh(output.sizes(), output.dtype(), output.impl()->device);
  }
  uint32_t add_input(const Tensor& output) {  // returns the input number
    uint32_t nr = add_input_undefined();
    input_meta(nr).set(output.sizes(), output.dtype(), output.impl()->device);
    return nr;
  }
  uint32_t add_input_undefined() {
    if (UT_UNLIKELY(num_inputs_ > 0)) make_extra().more_metas.emplace_back();
    return num_inputs_++;
  }
  const InputMeta& input_meta(uint32_t i) const { return i == 0 ? meta_ : extra_->more_metas[i - 1]; }
  InputMeta& input_meta(uint32_t i) { return i == 0 ? meta_ : extra_->more_metas[i - 1]; }

  uint64_t sequence_nr() const { return sequence_; }
  void set_sequence_nr(uint64_t n) { sequence_ = n; }
  uint32_t topological_nr() const { return topological_; }
  // Sets the sequence and topological numbers. Call it when the edges are set.
  void finish_recording() { number(edges(), num_edges_); }

  NodeExtra* extra() const { return extra_; }
  NodeExtra& make_extra() {
    if (!extra_) extra_ = new NodeExtra;
    return *extra_;
  }
  TaskSlot slot;

  bool released() const { return released_; }
  void mark_released() { released_ = true; }
  // The low bits of the id of the pass that freed the node; see error_details.h.
  uint16_t freed_by() const { return freed_by_; }
  void set_freed_by(uint64_t task_id) { freed_by_ = static_cast<uint16_t>(task_id); }
  bool is_function() const { return is_function_; }

  UT_HOT_INLINE void retain() {
    if (UT_UNLIKELY(refs_.fetch_add(1, std::memory_order_relaxed) == 0)) on_first_reference();
  }
  UT_HOT_INLINE void release() {
    if (refs_.load(std::memory_order_acquire) == 1 && !is_embedded_) return destroy();
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) on_last_reference();
  }
  uint32_t use_count() const { return refs_.load(std::memory_order_acquire); }

  // Destroys a dead node and frees its memory; nodes with their own memory management override it. Called by the
  // destruction loop, and by the owner of an embedded node. Nobody else deletes a node by its base class, so the
  // destructor is not virtual: it would cost every class a second function that frees memory.
  virtual void delete_self() = 0;

 protected:
  UT_HOT_INLINE void number(const Edge* edges, uint32_t count) {
    sequence_ = thread_mode.sequence++;
    uint32_t top = 0;
    for (uint32_t i = 0; i < count; i++)
      if (Node* next = edges[i].node.get(); next && next->topological_ >= top) top = next->topological_ + 1;
    topological_ = top;
  }
  UT_HOT_INLINE explicit Node(uint32_t num_edges, bool heap_edges)
      : num_edges_(static_cast<uint16_t>(num_edges)), heap_edges_(heap_edges) {}
  UT_HOT_INLINE ~Node() {
    if (UT_UNLIKELY(extra_ || slot.buffer)) drop_rare_parts();
  }
  bool pass_needs(uint32_t i) const;  // engine.cpp
  void drop_rare_parts();
  virtual void on_first_reference() {}  // embedded nodes only
  virtual void on_last_reference() { destroy(); }
  void destroy();

  std::atomic<uint32_t> refs_{1};  // atomic: graphs may be destroyed on any thread
  uint16_t num_edges_;
  uint16_t num_inputs_ = 0;
  bool heap_edges_ : 1;
  bool released_ : 1 = false;
  bool is_embedded_ : 1 = false;  // belongs to another object, which deletes it
  bool is_function_ : 1 = false;  // a FunctionNode of the binding layer, which already has its Python object
  uint16_t freed_by_ = 0;
  uint32_t topological_ = 0;
  union {
    uint64_t sequence_ = 0;
    Node* next_dead_;  // valid once the node is dead; see Note [Iterative Destruction]
  };
  InputMeta meta_;
  NodeExtra* extra_ = nullptr;  // owned
};

// Nodes with a fixed number of edges store them right after the base class (Node::edges relies on it).
template <uint32_t N>
class NodeWithEdges : public Node {
 public:
  Edge* edges() { return storage_; }
  UT_HOT_INLINE void finish_recording() { this->number(storage_, N); }

 protected:
  UT_HOT_INLINE NodeWithEdges() : Node(N, false) {
    static_assert(alignof(Edge) <= alignof(Node) && sizeof(Node) % alignof(Edge) == 0);
  }

  UT_HOT_INLINE ~NodeWithEdges() = default;

 private:
  Edge storage_[N ? N : 1];
};

// Nodes with a variable number of edges.
class NodeWithEdgeList : public Node {
 public:
  void set_num_edges(size_t n) {
    list_ = std::make_unique<Edge[]>(n);
    raw_ = list_.get();
    num_edges_ = static_cast<uint16_t>(n);
    UT_CHECK(n < 65536, "an operation takes at most 65,535 differentiable inputs, got ", n);
  }

 protected:
  NodeWithEdgeList() : Node(0, true) {}

 private:
  Edge* raw_ = nullptr;  // must be the first member: Node::edges reads it
  std::unique_ptr<Edge[]> list_;
};

// Memory management for generated and hand-written nodes.
#define UT_NODE_MEMORY(Type)                                                                          \
  UT_HOT_INLINE static void* operator new(size_t n) { return ::undertow::core::pool_alloc(n); }       \
  UT_HOT_INLINE static void operator delete(void* p, size_t n) { ::undertow::core::pool_free(p, n); } \
  void delete_self() override {                                                                       \
    this->Type::~Type();                                                                              \
    ::undertow::core::pool_free(this, sizeof(Type));                                                  \
  }

// The edge for t's gradient: to its grad_fn, or to its accumulator for a leaf; empty if t does not require grad.
Edge gradient_edge(const Tensor& t);

// Makes `result` the next output of `node`.
void set_history(const Tensor& result, const Ref<Node>& node);

}  // namespace undertow::core
