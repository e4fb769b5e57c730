// hooks.h: what users may attach to tensors and nodes. Python's and C++'s hooks both derive from these.
#pragma once
#include <atomic>
#include <span>
#include <string>

#include "core/base/ref.h"
#include "core/tensor/tensor.h"

namespace undertow {

class HookBase {
 public:
  virtual ~HookBase() = default;
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<uint32_t> refs_{0};  // atomic: nodes that share a hook die on any thread
};

// Sees a tensor's gradient before the node that takes it; returns the one to go on with (undefined: unchanged).
class TensorHook : public HookBase {
 public:
  virtual Tensor call(const Tensor& grad) = 0;
  virtual bool is_retains_grad() const { return false; }
};
// Sees all gradients entering a node and may replace them.
class NodePreHook : public HookBase {
 public:
  virtual void call(std::span<Tensor> grad_outputs) = 0;
};
// Sees what entered and what leaves, and may replace what leaves.
class NodePostHook : public HookBase {
 public:
  virtual void call(std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outputs) = 0;
};
// Runs after a leaf's .grad was updated.
class PostAccumulateHook : public HookBase {
 public:
  virtual void call(const Tensor& leaf) = 0;
};
// Where a node was made: kept in anomaly mode and when lines are recorded.
class NodeOrigin : public HookBase {
 public:
  virtual std::string describe() const = 0;  // the traceback, or one line
  virtual std::string line() const = 0;      // file:line

  // The node whose backward made this one (in double backward), for the reports of anomaly mode.
  Ref<NodeOrigin> parent;
  std::string parent_name;
};

}  // namespace undertow
