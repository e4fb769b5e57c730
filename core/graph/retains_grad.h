// retains_grad.h: a hook that stores a non-leaf's gradient in its .grad. Does not own the tensor.
#pragma once
#include <mutex>

#include "core/graph/hooks.h"

namespace undertow::core {

class RetainsGradHook final : public TensorHook {
 public:
  explicit RetainsGradHook(TensorImpl* target) : target_(target) {}
  Tensor call(const Tensor& grad) override;
  bool is_retains_grad() const override { return true; }
  void forget_target();  // the tensor is being destroyed

 private:
  std::mutex mutex_;  // guards target_: the tensor may be destroyed while a pass runs on another thread
  TensorImpl* target_;
};

// Makes a non-leaf keep its gradient. Does nothing for leaves and for tensors that already keep it.
void retain_grad(const Tensor& t);

}  // namespace undertow::core
