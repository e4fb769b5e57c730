// loss.h: the derivative of an elementwise loss in one pass, for autograd/formulas/loss.cpp. Knows no graph.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/loss.h"

namespace undertow::core::fwd {

// The gradient of self, in the broadcast shape; pos_weight is undefined except for BceLogitsWeighted. grad is the
// gradient of the loss: one number if it is reduced.
Tensor elementwise_loss_backward(const ElementwiseLoss& loss, const Tensor& grad, const Tensor& self,
                                 const Tensor& target, const Tensor& pos_weight, int64_t reduction);

}  // namespace undertow::core::fwd
