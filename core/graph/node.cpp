// node.cpp: numbering, metadata, and destruction of nodes without recursion.
#include "core/graph/node.h"

#include <cstring>
#include <utility>
#include <vector>

#include "core/graph/accumulate_grad.h"
#include "core/graph/autograd_meta.h"
#include "core/graph/saved_fields.h"
#include "core/graph/saved_tensor.h"

namespace undertow::core {

void (*release_node_metadata)(void*) = nullptr;

InputMeta& InputMeta::operator=(InputMeta&& o) noexcept {
  if (this == &o) return *this;
  clear();
  dtype_ = o.dtype_;
  ndim_ = std::exchange(o.ndim_, 0);
  device_ = o.device_;
  defined_ = std::exchange(o.defined_, false);
  any_dtype_ = o.any_dtype_;
  static_assert(sizeof(inline_) >= sizeof(heap_));
  std::memcpy(inline_, o.inline_, sizeof(inline_));  // or heap_, which shares these bytes
  return *this;
}

void Node::visit_kept(KeptVisitor visit, void* context) const {
  if (const Node* inner = inner_node()) return inner->visit_kept(visit, context);
  size_t count = 0;
  const SavedField* fields = saved_fields(&count);
  auto* self = const_cast<Node*>(this);
  for (size_t i = 0; i < count; i++) {
    if (fields[i].kind == SavedKind::Tensor) visit(context, fields[i].name, saved_member<SavedTensor>(self, fields[i]));
    if (fields[i].kind == SavedKind::TensorList)
      for (const SavedTensor& s : saved_member<std::vector<SavedTensor>>(self, fields[i]))
        visit(context, fields[i].name, s);
  }
}

void Node::visit_saved(SavedVisitor visit, void* context) const {
  struct Call {
    SavedVisitor visit;
    void* context;
  } call{visit, context};
  visit_kept(
      [](void* to, const char* name, const SavedTensor& saved) {
        auto* c = static_cast<Call*>(to);
        if (TensorImpl* t = saved.peek()) c->visit(c->context, name, t);
      },
      &call);
}

void Node::drop_rare_parts() {
  if (extra_ && extra_->metadata && release_node_metadata) release_node_metadata(extra_->metadata);
  delete extra_;
  if (slot.buffer && num_inputs_ <= 1) static_cast<TensorImpl*>(slot.buffer)->release();
}

namespace {
// Nodes whose last reference was released while another node was being destroyed on this thread, linked by next_dead_.
struct Graveyard {
  Node* head = nullptr;
  bool draining = false;
};
thread_local Graveyard graveyard __attribute__((tls_model("initial-exec")));
}  // namespace

// See Note [Iterative Destruction] in tensor/tensor.cpp.
void Node::destroy() {
  Graveyard& g = graveyard;
  if (g.draining) {
    next_dead_ = g.head;
    g.head = this;
    __builtin_prefetch(reinterpret_cast<char*>(this) + 128);  // the saved tensors, read when this node is deleted
    return;
  }
  g.draining = true;
  delete_self();
  while (Node* n = g.head) {
    g.head = n->next_dead_;
    n->delete_self();
  }
  g.draining = false;
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

}  // namespace undertow::core
