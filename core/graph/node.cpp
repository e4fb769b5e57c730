// node.cpp: the life of a node: numbering, metadata, and death without recursion.
#include "core/graph/node.h"

#include <cstring>
#include <vector>

#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"

namespace undertow {

void (*release_node_metadata)(void*) = nullptr;

void InputMeta::set(IntSpan sizes, DType dtype, uint16_t device) {
  clear();
  dtype_ = dtype;
  device_ = device;
  defined_ = true;
  ndim_ = static_cast<uint8_t>(sizes.size());
  if (ndim_ > kInline) heap_ = static_cast<int64_t*>(pool_alloc(ndim_ * sizeof(int64_t)));
  int64_t* to = ndim_ > kInline ? heap_ : inline_;
  for (size_t i = 0; i < sizes.size(); i++) to[i] = sizes[i];
}

InputMeta& InputMeta::operator=(InputMeta&& o) noexcept {
  if (this == &o) return *this;
  clear();
  std::memcpy(static_cast<void*>(this), &o, sizeof(*this));
  o.ndim_ = 0;
  o.defined_ = false;
  return *this;
}

uint32_t Node::add_input(const Tensor& output) {
  uint32_t nr = add_input_undefined();
  input_meta(nr).set(output.sizes(), output.dtype(), output.impl()->device);
  return nr;
}

uint32_t Node::add_input_undefined() {
  if (num_inputs_ > 0) make_extra().more_metas.emplace_back();
  return num_inputs_++;
}

void Node::finish_recording() {
  sequence_ = thread_mode.sequence++;
  uint32_t top = 0;
  for (const Edge& e : next_edges())
    if (e.node && e.node->topological_ >= top) top = e.node->topological_ + 1;
  topological_ = top;
}

Node::~Node() {
  if (extra_ && extra_->metadata && release_node_metadata) release_node_metadata(extra_->metadata);
  if (slot.buffer && num_inputs_ <= 1) static_cast<TensorImpl*>(slot.buffer)->release();
}

namespace {
// Nodes whose count reached zero while another node was being destroyed on this thread.
struct Graveyard {
  std::vector<Node*> dead;
  bool draining = false;
};
thread_local Graveyard* graveyard __attribute__((tls_model("initial-exec"))) = nullptr;
}  // namespace

// See Note [Iterative Destruction] in tensor/tensor.cpp.
void Node::destroy() {
  if (UT_UNLIKELY(!graveyard)) graveyard = new Graveyard;  // one per thread that ever frees a graph; small
  if (graveyard->draining) {
    graveyard->dead.push_back(this);
    return;
  }
  graveyard->draining = true;
  delete_self();
  while (!graveyard->dead.empty()) {
    Node* n = graveyard->dead.back();
    graveyard->dead.pop_back();
    n->delete_self();
  }
  graveyard->draining = false;
}

void release_node(Node* node) { node->release(); }

Edge gradient_edge(const Tensor& t) {
  if (!t.requires_grad()) return {};
  if (Node* fn = grad_fn(t)) return {Ref<Node>(fn), t.impl()->output_nr};
  return {grad_accumulator(t), 0};
}

void set_history(const Tensor& result, const Ref<Node>& node) {
  TensorImpl* impl = result.impl();
  uint32_t nr = node->add_input(result);
  if (impl->grad_fn) release_node(impl->grad_fn);
  node->retain();
  impl->grad_fn = node.get();
  impl->output_nr = nr;
  impl->flags |= kRequiresGrad;
}

}  // namespace undertow
