// recurrent_kernels.h: one step of an LSTM and its derivative over rows of gates, compiled once per instruction set.
// Knows rows of four gates (input, forget, cell, output) of `hidden` elements each; the caller computes the products.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// What one step writes and its derivative reads.
template <class T>
struct LstmStep {
  T* gates;         // rows x 4 hidden: sums before the step, activations after it
  const T* before;  // the previous cell state
  T* cell;
  T* hidden;
};
template <class T>
struct LstmStepBackward {
  const T *gates, *before, *cell;                 // as written by the step
  const T *grad_hidden, *grad_cell, *grad_gates;  // gradients of this step's results; null for none
  const T* from_next;                             // the hidden state's gradient from the next step
  T* cell_carry;  // in: the cell state's gradient from the next step; out: for the previous step
  T* grad_sums;   // the gradient of the gate sums
};

template <class T>
struct LstmKernels {
  void (*step)(const LstmStep<T>& s, int64_t rows, int64_t hidden);
  void (*backward)(const LstmStepBackward<T>& s, int64_t rows, int64_t hidden);
};

UNDERTOW_FOR_EACH_ISA(const LstmKernels<float>& lstm_float(); const LstmKernels<double>& lstm_double();)

}  // namespace undertow::core::cpu
