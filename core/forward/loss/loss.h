// loss.h: the derivative of an elementwise loss in one pass, for autograd/formulas/loss.cpp. No graph is known here.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/loss.h"

namespace undertow::fwd {

// The gradient of self, at the broadcast shape; pos_weight is undefined but for BceLogitsWeighted. grad is the loss's:
// one number where it is reduced.
Tensor elementwise_loss_backward(const ElementwiseLoss& loss, const Tensor& grad, const Tensor& self,
                                 const Tensor& target, const Tensor& pos_weight, int64_t reduction);

}  // namespace undertow::fwd
