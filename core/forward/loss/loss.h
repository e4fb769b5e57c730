// loss.h: the derivative of an elementwise loss in one pass, for autograd/formulas/loss.cpp. No graph is known here.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/cpu/loss/loss_kernels.h"

namespace undertow::fwd {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

struct ElementwiseLoss {
  cpu::Loss loss;
  const char* name;  // for messages
  double limit = 1;  // of smooth_l1_loss and huber_loss
};

// The gradient of self, at the broadcast shape; pos_weight is undefined but for BceLogitsWeighted. grad is the loss's:
// one number where it is reduced.
Tensor elementwise_loss_backward(const ElementwiseLoss& loss, const Tensor& grad, const Tensor& self,
                                 const Tensor& target, const Tensor& pos_weight, int64_t reduction);

}  // namespace undertow::fwd
