// recurrent.h: the derivative of a whole recurrent layer in one pass, for autograd/formulas/recurrent.cpp. Knows no
// graph.
#pragma once
#include <span>

#include "core/forward/forward_types.h"
#include "core/kernels/recurrent.h"

namespace undertow::core::fwd {

// Gradients of gates, hx, cx and weight from those of the three results, some of which may be undefined.
std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_layer_backward(std::span<const Tensor> grads, const LstmLayer& layer);

}  // namespace undertow::core::fwd
