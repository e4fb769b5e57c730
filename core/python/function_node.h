// function_node.h: the graph's node of a custom Function: calls the user's backward.
//
// Note [Who Owns Whom In Functions]
// A Function's ctx is its node's Python object, and keeps its identity and attributes as long as either is used. While Python
// refers to the ctx, the ctx owns the node. When Python's last reference goes and the graph still holds the node, ownership
// turns round: the node owns the ctx (owns_object), until someone asks for it again. As with tensors (Note [Who Owns Whom In
// Python]), this changes only under the interpreter's lock.
#pragma once
#include "core/graph/node.h"
#include "core/graph/saved_tensor.h"

namespace undertow::python {

struct FunctionObject;

class FunctionNode final : public Node {
 public:
  FunctionNode(size_t num_edges, FunctionObject* object);
  ~FunctionNode() override;
  static void* operator new(size_t n) { return pool_alloc(n); }
  static void operator delete(void* p, size_t n) { pool_free(p, n); }
  void delete_self() override;

  void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  std::string name() const override;
  void release_variables() override;
  void visit_saved(SavedVisitor visit, void* context) const override;
  void visit_kept(KeptVisitor visit, void* context) const override;

  // Lets go of one count, and says whether others remain. For turning ownership round.
  bool drop_own_count() { return refs_.fetch_sub(1, std::memory_order_acq_rel) != 1; }
  void restore_own_count() { refs_.store(1, std::memory_order_relaxed); }

 private:
  static constexpr size_t kFew = 2;
  // First, because Node::edges reads it: the edges themselves, or where they are.
  union Room {
    Edge few[kFew];
    Edge* many;
    Room() {}
    ~Room() {}
  } room_;

 public:
  FunctionObject* object;     // never null
  bool owns_object = false;
  SmallVector<SavedTensor, 2> saved;  // filled once, after forward: raw SavedTensor objects point into it
  std::vector<uint32_t> intermediates;  // which of `saved` are neither arguments nor results; noted in anomaly mode only
  // Shapes of tensor results without a derivative, whose zeros backward gets; by result.
  std::vector<std::pair<uint32_t, InputMeta>> plain_results;

 private:
  Tensor zeros_for(uint32_t result) const;
};

}  // namespace undertow::python
