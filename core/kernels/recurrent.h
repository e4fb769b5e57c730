// recurrent.h: kernels of whole recurrent layers, float and double.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

// The tensors of a layer that ran, in lstm_layer's order: arguments, then results. All row-major.
struct LstmLayer {
  const Tensor &hx, &cx, &weight, &output, &cells, &activations;
  bool reverse;
};
// What a layer's backward pass writes. All row-major; hx and cx hold zeros.
struct LstmGradients {
  const Tensor &gates, &hx, &cx, &weight;
};

struct RecurrentKernels {
  // Runs the steps of a layer from the gates' sums of inputs (steps x batch x 4 hidden, any strides). Results, hx and
  // cx are row-major; weight has any strides.
  Kernel<"lstm", void(const Tensor& output, const Tensor& cells, const Tensor& activations, const Tensor& gates,
                      const Tensor& hx, const Tensor& cx, const Tensor& weight, bool reverse)>
      lstm;
  // grads: those of output, cells and activations, row-major; some may be undefined.
  Kernel<"lstm backward", void(TensorSpan grads, const LstmLayer& layer, const LstmGradients& to)> lstm_backward;
};

}  // namespace undertow
