// recurrent.isa.cpp: see recurrent_kernels.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/recurrent/recurrent_kernels.h"

#include "core/kernels/cpu/math/vec_math.h"

namespace undertow::core::cpu {
namespace {

// Each function has its own loop: five in one would not fit the vector registers.
template <class T>
void step(const LstmStep<T>& s, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r++) {
    T* gates = s.gates + r * 4 * n;
    T *i = gates, *f = gates + n, *g = gates + 2 * n, *o = gates + 3 * n;
    const T* before = s.before + r * n;
    T *c = s.cell + r * n, *h = s.hidden + r * n;
    for (int64_t k = 0; k < 2 * n; k++) i[k] = vm::sigmoid(i[k]);  // the input and forget gates are adjacent
    for (int64_t k = 0; k < n; k++) g[k] = vm::tanh(g[k]);
    for (int64_t k = 0; k < n; k++) o[k] = vm::sigmoid(o[k]);
#pragma GCC ivdep
    for (int64_t k = 0; k < n; k++) {
      T cell = f[k] * before[k] + i[k] * g[k];
      c[k] = cell;
      h[k] = o[k] * vm::tanh(cell);
    }
  }
}

// With h = o tanh(c) and c = f c' + i g: dc gets dh o (1 - tanh(c)^2), and each gate gets the other factor of its
// product times the derivative of its own activation: s (1 - s) for a sigmoid s, 1 - t^2 for a tanh t.
template <class T>
void backward(const LstmStepBackward<T>& s, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r++) {
    const T *gates = s.gates + r * 4 * n, *before = s.before + r * n, *cell = s.cell + r * n,
            *next = s.from_next + r * n;
    const T *gh = s.grad_hidden ? s.grad_hidden + r * n : nullptr, *gc = s.grad_cell ? s.grad_cell + r * n : nullptr;
    T *carry = s.cell_carry + r * n, *out = s.grad_sums + r * 4 * n;
#pragma GCC ivdep
    for (int64_t k = 0; k < n; k++) {
      T i = gates[k], f = gates[n + k], g = gates[2 * n + k], o = gates[3 * n + k];
      T t = vm::tanh(cell[k]);
      T dh = gh ? gh[k] + next[k] : next[k];
      T dc = (gc ? gc[k] + carry[k] : carry[k]) + dh * o * (T(1) - t * t);
      out[k] = dc * g * (i * (T(1) - i));
      out[n + k] = dc * before[k] * (f * (T(1) - f));
      out[2 * n + k] = dc * i * (T(1) - g * g);
      out[3 * n + k] = dh * t * (o * (T(1) - o));
      carry[k] = dc * f;
    }
    if (!s.grad_gates) continue;  // only a second derivative has gradients for the activations themselves
    const T* more = s.grad_gates + r * 4 * n;
#pragma GCC ivdep
    for (int64_t k = 0; k < 4 * n; k++) {
      T a = gates[k];
      bool is_tanh = k >= 2 * n && k < 3 * n;
      out[k] += more[k] * (is_tanh ? T(1) - a * a : a * (T(1) - a));
    }
  }
}

constexpr LstmKernels<float> kFloat = {step<float>, backward<float>};
constexpr LstmKernels<double> kDouble = {step<double>, backward<double>};

}  // namespace

namespace UNDERTOW_ISA_NS {
const LstmKernels<float>& lstm_float() { return kFloat; }
const LstmKernels<double>& lstm_double() { return kDouble; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
