// recurrent_kernels.h: one step of an LSTM and its derivative over rows of gates, compiled once per instruction set.
// Knows rows of four gates (input, forget, cell, output) of `hidden` elements each; products are the caller's.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::cpu {

// What one step leaves and the derivative reads.
template <class T>
struct LstmStep {
  T* gates;         // rows x 4 hidden: sums before the step, activations after it
  const T* before;  // the cell state before
  T* cell;
  T* hidden;
};
template <class T>
struct LstmStepBackward {
  const T *gates, *before, *cell;                 // as the step left them
  const T *grad_hidden, *grad_cell, *grad_gates;  // what arrives at this step's results; null for nothing
  const T* from_next;                             // the gradient of the hidden state that the next step sends
  T* cell_carry;  // in: the cell state's gradient from the next step; out: for the one before
  T* grad_sums;   // the gradient of the sums
};

template <class T>
struct LstmKernels {
  void (*step)(const LstmStep<T>& s, int64_t rows, int64_t hidden);
  void (*backward)(const LstmStepBackward<T>& s, int64_t rows, int64_t hidden);
};

UNDERTOW_FOR_EACH_ISA(const LstmKernels<float>& lstm_float(); const LstmKernels<double>& lstm_double();)

}  // namespace undertow::cpu
