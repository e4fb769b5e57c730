// hooks.h: base classes of the hooks on tensors and nodes, for Python and C++.
#pragma once
#include <atomic>
#include <span>
#include <string>

#include "core/base/ref.h"
#include "core/tensor/tensor.h"

namespace undertow::core {

class HookBase {
 public:
  virtual ~HookBase() = default;
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  std::atomic<uint32_t> refs_{0};  // atomic: nodes that share a hook may be destroyed on any thread
};

// Called with a tensor's gradient before it enters the node; returns a replacement, or undefined for no change. The
// gradient is undefined if only other outputs of the node got one.
class TensorHook : public HookBase {
 public:
  virtual Tensor call(const Tensor& grad) = 0;
  virtual bool is_retains_grad() const { return false; }
};
// Called with all gradients that enter a node; may replace them.
class NodePreHook : public HookBase {
 public:
  virtual void call(std::span<Tensor> grad_outputs) = 0;
};
// Called with the gradients that entered a node and those that leave it; may replace the latter. A hook that was
// registered while the node ran gets no grad_outputs.
class NodePostHook : public HookBase {
 public:
  virtual void call(std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outputs) = 0;
};
// Runs after a leaf's .grad was updated.
class PostAccumulateHook : public HookBase {
 public:
  virtual void call(const Tensor& leaf) = 0;
};
// Where a node was recorded; kept in anomaly mode and while lines are recorded.
class NodeOrigin : public HookBase {
 public:
  virtual std::string describe() const = 0;  // the traceback, or one line
  virtual std::string line() const = 0;      // file:line

  // The node whose backward recorded this one (in double backward), for the reports of anomaly mode.
  Ref<NodeOrigin> parent;
  std::string parent_name;
};

}  // namespace undertow::core
