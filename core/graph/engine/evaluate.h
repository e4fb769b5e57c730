// evaluate.h: runs one node within a pass: hooks, captures, apply, release, validation.
// Shared by the sequential loop (engine.cpp) and the parallel one (workers.cpp); does not touch queues or buffers.
#pragma once
#include "core/graph/engine/graph_task.h"

namespace undertow::core {

// An array for the gradients of one node; on the stack if they are few.
class GradArray {
 public:
  explicit GradArray(size_t n) : n_(n) {
    if (UT_UNLIKELY(n > kInline)) heap_ = std::make_unique<Tensor[]>(n);
  }
  std::span<Tensor> span() { return {heap_ ? heap_.get() : inline_, n_}; }
  Tensor& operator[](size_t i) { return heap_ ? heap_[i] : inline_[i]; }

 private:
  static constexpr size_t kInline = 4;
  size_t n_;
  Tensor inline_[kInline];
  std::unique_ptr<Tensor[]> heap_;
};

// The same, reused for every node of a loop: take() returns n undefined tensors.
class ReusedGrads {
 public:
  std::span<Tensor> take(size_t n) {
    for (size_t i = 0; i < used_; i++) grads_[i].reset();
    if (UT_UNLIKELY(n > grads_.size())) grads_.resize(n);
    used_ = n;
    return {grads_.data(), n};
  }

 private:
  SmallVector<Tensor, 4> grads_ = SmallVector<Tensor, 4>(4);
  size_t used_ = 0;
};

// Prints a text on the interpreter's standard error stream. Installed by the binding layer; null without Python.
extern void (*print_error)(const std::string& text);

// Note [Formulas Under A Mode]
// Our derivatives sometimes use other operators than torch's, with the same value. A __torch_dispatch__ mode should see
// torch's: undertow/_aten/_formulas.py has such formulas by the name of the node. While a mode is active, the engine
// asks for one before it runs the node's own. They call torch's operators directly, so nothing can be recorded: if the
// gradients are to be differentiated again, the node's own formula runs.
//
// Computes the gradients of a node, or returns false. Installed by the binding layer.
extern bool (*apply_under_mode)(Node* node, std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs);

// In anomaly mode, warns with the place where the failed node was recorded. Call it while its exception is handled.
void report_failure(Node* node);

// Consumes grad_outputs and fills grad_inputs. Returns false if the node was only captured and did not run.
bool evaluate_node(GraphTask& task, TaskSlot& slot, Node* node, std::span<Tensor> grad_outputs,
                   std::span<Tensor> grad_inputs);

}  // namespace undertow::core
