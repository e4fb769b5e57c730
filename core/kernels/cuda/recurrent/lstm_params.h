// lstm_params.h: the parameters of the LSTM kernels. Included by the host and by device code, so it uses no other
// header; the includer has defined int64_t.
#pragma once

namespace undertow {

// Strides of the gates of one step, in elements.
struct LstmGateStrides {
  int64_t row, column;
};

// What the derivative of one step reads and writes. Host code instantiates it with char.
template <class T>
struct LstmStepGrads {
  const T *activations, *before, *cell;                 // as written by the step
  const T *grad_hidden, *grad_cell, *grad_activations;  // gradients of this step's results; null for none
  const T* from_next;                                   // the hidden state's gradient from the next step
  T* carry;      // in: the cell state's gradient from the next step; out: for the previous step
  T* grad_sums;  // the gradient of the gate sums
};

}  // namespace undertow
