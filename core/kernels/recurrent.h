// recurrent.h: kernels for whole recurrent layers, float and double.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

// The tensors of a forward pass, in lstm_layer's order: arguments, then results. All row-major.
struct LstmLayer {
  const Tensor &hx, &cx, &weight, &output, &cells, &activations;
  bool reverse;
};
// The results of a layer's backward pass. All row-major; hx and cx hold zeros on entry.
struct LstmGradients {
  const Tensor &gates, &hx, &cx, &weight;
};

struct RecurrentKernels {
  // Runs the steps of a layer, given the input part of the gates (steps x batch x 4 hidden, any strides). Results, hx
  // and cx are row-major; weight has any strides.
  Kernel<"lstm", void(const Tensor& output, const Tensor& cells, const Tensor& activations, const Tensor& gates,
                      const Tensor& hx, const Tensor& cx, const Tensor& weight, bool reverse)>
      lstm;
  // grads: the gradients of output, cells and activations, row-major; some may be undefined.
  Kernel<"lstm backward", void(TensorSpan grads, const LstmLayer& layer, const LstmGradients& to)> lstm_backward;
};

}  // namespace undertow::core
