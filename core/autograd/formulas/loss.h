// loss.h: derivatives and compositions of losses. reduction: 0 none, 1 mean, 2 sum.
// Each function is differentiable: it calls only operators.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor reduce_loss(const Tensor& loss, int64_t reduction);

Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction);
Tensor mse_loss_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
                    int64_t reduction);
Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                               double beta);
Tensor smooth_l1_loss_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
                          int64_t reduction, double beta);
Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta);
Tensor huber_loss_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
                      int64_t reduction, double delta);
Tensor soft_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction);
Tensor soft_margin_loss_jvp(const Tensor& self_t, const Tensor& self, const Tensor& target, int64_t reduction);
Tensor bce_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                    int64_t reduction);
Tensor bce_target_backward(const Tensor& grad, const Tensor& self, const Tensor& weight, int64_t reduction);
Tensor bce_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
               const Tensor& weight, int64_t reduction);
Tensor bce_logits_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                           const Tensor& pos_weight, int64_t reduction);
Tensor bce_logits_target_backward(const Tensor& grad, const Tensor& self, const Tensor& weight,
                                  const Tensor& pos_weight, int64_t reduction);
Tensor bce_logits_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
                      const Tensor& weight, const Tensor& pos_weight, int64_t reduction);

// Its derivative by self is zero, and not absent.
Tensor nll_loss_grad(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                     int64_t reduction, int64_t ignore_index, const Tensor& total_weight);
Tensor nll_loss_value(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                      int64_t ignore_index);  // without the sum of the weights
Tensor nll_loss_nd_composite(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                             int64_t ignore_index);
Tensor cross_entropy_composite(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                               int64_t ignore_index, double label_smoothing);

}  // namespace undertow::core::ops
