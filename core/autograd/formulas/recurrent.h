// recurrent.h: derivatives of recurrent layers.
// Each function is differentiable: if anything is recorded, it calls only operators.
#pragma once
#include <span>

#include "core/autograd/op_types.h"

namespace undertow::core::ops {

std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_layer_backward(std::span<Tensor> grads, const Tensor& hx,
                                                               const Tensor& cx, const Tensor& weight,
                                                               const Tensor& output, const Tensor& cells,
                                                               const Tensor& activations, bool reverse);

}  // namespace undertow::core::ops
