// function_node.h: the graph node of a custom Function: calls the user's backward.
//
// Note [Who Owns Whom In Functions]
// A Function's ctx is the Python object of its node, and keeps its identity and attributes as long as either is used.
// While the graph owns the node, the node owns the ctx (owns_object), and the ctx points back without a reference. So
// the garbage collector, which sees that results own nodes and nodes own ctxs, can break cycles through them. When the
// graph releases the node but Python still has the ctx, ownership is reversed: the ctx owns the node. It is reversed
// again if the graph takes the node back and Python drops the ctx. Ownership changes only with the GIL held.
#pragma once
#include "core/graph/node.h"
#include "core/graph/saved_tensor.h"

namespace undertow::core::python {

struct FunctionObject;

class FunctionNode final : public Node {
 public:
  FunctionNode(size_t num_edges, FunctionObject* object);
  ~FunctionNode();
  static void* operator new(size_t n) { return pool_alloc(n); }
  static void operator delete(void* p, size_t n) { pool_free(p, n); }
  void delete_self() override;

  void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  std::string name() const override;
  void release_variables() override;
  void visit_kept(KeptVisitor visit, void* context) const override;

  // Drops one reference and returns whether others remain. Used to reverse ownership.
  bool drop_reference() { return refs_.fetch_sub(1, std::memory_order_acq_rel) != 1; }
  void restore_reference() { refs_.fetch_add(1, std::memory_order_relaxed); }

 protected:
  // Restores the last reference, because delete_self gives it to the ctx. While delete_self waits for the GIL, a thread
  // that has the ctx may still add and drop references.
  void on_last_reference() override {
    restore_reference();
    destroy();
  }

 private:
  static constexpr size_t kInlineEdges = 2;
  // The first member, because Node::edges reads it: the edges themselves, or a pointer to them.
  union EdgeStorage {
    Edge inlined[kInlineEdges];
    Edge* heap;
    EdgeStorage() {}
    ~EdgeStorage() {}
  } edge_storage_;

 public:
  FunctionObject* object;  // never null
  bool owns_object = false;
  SmallVector<SavedTensor, 2> saved;    // filled once, after forward; raw SavedTensor objects point into it
  std::vector<uint32_t> intermediates;  // which of `saved` depend on arguments but are neither arguments nor results
  // By result: the shapes of tensor results without a derivative, for which backward receives zeros.
  std::vector<std::pair<uint32_t, InputMeta>> plain_results;

 private:
  Tensor zeros_for(uint32_t result) const;
};

}  // namespace undertow::core::python
