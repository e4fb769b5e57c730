// lstm.cuh: one step of an LSTM and its derivative, over rows of four gates (input, forget, cell, output).
#pragma once
#include "device/prelude.cuh"
// After prelude.cuh, which defines int64_t.
#include "recurrent/lstm_params.h"

namespace undertow {

template <class T>
UT_DEVICE T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

}  // namespace undertow

// gates: the part that comes from the input; sums: the part that comes from the hidden state. They become activations.
template <class T>
__global__ void lstm_step(T* activations, const T* gates, LstmGateStrides at, const T* before, T* cell, T* hidden,
                          int64_t rows, int64_t n) {
  for (int64_t e = thread_number(); e < rows * n; e += thread_count()) {
    int64_t row = e / n, k = e % n;
    T* mine = activations + row * 4 * n + k;
    const T* given = gates + row * at.row + k * at.column;
    T i = sigmoid(mine[0] + given[0]), f = sigmoid(mine[n] + given[n * at.column]),
      g = tanh(mine[2 * n] + given[2 * n * at.column]), o = sigmoid(mine[3 * n] + given[3 * n * at.column]);
    T c = f * before[e] + i * g;
    mine[0] = i;
    mine[n] = f;
    mine[2 * n] = g;
    mine[3 * n] = o;
    cell[e] = c;
    hidden[e] = o * tanh(c);
  }
}

// With h = o tanh(c) and c = f c' + i g: dc gets dh o (1 - tanh(c)^2), and each gate gets the other factor of its
// product times the derivative of its own activation: s (1 - s) for a sigmoid s, 1 - t^2 for a tanh t.
template <class T>
__global__ void lstm_step_backward(LstmStepGrads<T> s, int64_t rows, int64_t n) {
  for (int64_t e = thread_number(); e < rows * n; e += thread_count()) {
    int64_t first = e / n * 4 * n + e % n;
    const T* a = s.activations + first;
    T i = a[0], f = a[n], g = a[2 * n], o = a[3 * n], t = tanh(s.cell[e]);
    T dh = s.from_next[e] + (s.grad_hidden ? s.grad_hidden[e] : T(0));
    T dc = s.carry[e] + (s.grad_cell ? s.grad_cell[e] : T(0)) + dh * o * (T(1) - t * t);
    T slopes[4] = {i * (T(1) - i), f * (T(1) - f), T(1) - g * g, o * (T(1) - o)};
    T grads[4] = {dc * g, dc * s.before[e], dc * i, dh * t};
    for (int k = 0; k < 4; k++)
      s.grad_sums[first + k * n] = (grads[k] + (s.grad_activations ? s.grad_activations[first + k * n] : T(0))) * slopes[k];
    s.carry[e] = dc * f;
  }
}
