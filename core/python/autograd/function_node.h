// function_node.h: the graph's node of a custom Function: calls the user's backward.
//
// Note [Who Owns Whom In Functions]
// A Function's ctx is its node's Python object, and keeps its identity and attributes as long as either is used. While
// the graph holds the node, the node owns the ctx (owns_object), which points back without a count: so the collector,
// which sees results own nodes that own ctxs, can open rings through them. When the graph lets go and Python still has
// the ctx, ownership turns round: the ctx owns the node; and back again, should the graph take up the node once more
// and Python drop the ctx. This changes only under the interpreter's lock.
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
  void restore_own_count() { refs_.fetch_add(1, std::memory_order_relaxed); }

 protected:
  // The last count is kept, for delete_self to hand on: while it waits for the interpreter's lock, a thread that has
  // the ctx may still take and drop counts.
  void on_last_reference() override {
    restore_own_count();
    destroy();
  }

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
  FunctionObject* object;  // never null
  bool owns_object = false;
  SmallVector<SavedTensor, 2> saved;    // filled once, after forward: raw SavedTensor objects point into it
  std::vector<uint32_t> intermediates;  // which of `saved` depend on arguments but are neither arguments nor results
  // Shapes of tensor results without a derivative, whose zeros backward gets; by result.
  std::vector<std::pair<uint32_t, InputMeta>> plain_results;

 private:
  Tensor zeros_for(uint32_t result) const;
};

}  // namespace undertow::python
