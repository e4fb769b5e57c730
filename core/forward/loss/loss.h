// loss.h: the derivative of an elementwise loss in one pass, for autograd/formulas/loss.cpp. Knows no graph.
#pragma once
#include "core/forward/forward_types.h"
#include "core/kernels/loss.h"

namespace undertow::core::fwd {

// The gradient of self, in the broadcast shape; pos_weight is undefined except for BceLogitsWeighted. grad is the
// gradient of the loss: one number if it is reduced.
Tensor elementwise_loss_backward(const ElementwiseLoss& loss, const Tensor& grad, const Tensor& self,
                                 const Tensor& target, const Tensor& pos_weight, int64_t reduction);

// Whether two different shapes differ only in dimensions of size 1: (N) and (N, 1). binary_cross_entropy pairs the
// elements of such an input and target one by one, and does not broadcast them.
bool differ_in_ones(const Tensor& self, const Tensor& target);

}  // namespace undertow::core::fwd
