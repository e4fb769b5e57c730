// recurrent.cpp: see recurrent.h: for each step, one product and one kernel over the gates.
#include "core/kernels/cuda/recurrent/recurrent.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/matmul/matmul.h"
#include "core/kernels/cuda/recurrent/lstm_params.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate lstm_step("recurrent/lstm.cuh", "lstm_step");
KernelTemplate lstm_step_backward("recurrent/lstm.cuh", "lstm_step_backward");

struct Sizes {
  int64_t steps, batch, hidden;
  int64_t row() const { return batch * hidden; }  // the elements of one step's states
  LaunchShape launch() const { return {.blocks = std::min<int64_t>(blocks_for(row(), 128), 65536), .threads = 128}; }
};

// Where a step is in time, and the step before it; -1 for the first one.
struct Step {
  int64_t at, before;
  Step(int64_t k, int64_t steps, bool reverse)
      : at(reverse ? steps - 1 - k : k),
        before(k == 0    ? -1
               : reverse ? steps - k
                         : k - 1) {}
};

char* element(const Tensor& t, int64_t i) { return t.data() + i * t.itemsize(); }
char* element_or_null(const Tensor& t, int64_t i) { return t.defined() ? element(t, i) : nullptr; }

void lstm(const Tensor& output, const Tensor& cells, const Tensor& activations, const Tensor& gates, const Tensor& hx,
          const Tensor& cx, const Tensor& weight, bool reverse) {
  Sizes s{output.size(0), output.size(1), output.size(2)};
  if (output.numel() == 0) return;
  Launcher on(output);
  for (int64_t k = 0; k < s.steps; k++) {
    Step step(k, s.steps, reverse);
    const Tensor &h = step.before < 0 ? hx : output, &c = step.before < 0 ? cx : cells;
    int64_t earlier = std::max<int64_t>(0, step.before) * s.row();
    multiply(activations, h, weight,
             {1,
              s.batch,
              4 * s.hidden,
              s.hidden,
              {0, s.hidden, 1, earlier},
              {0, weight.stride(1), weight.stride(0)},
              {0, 4 * s.hidden, 1, 4 * step.at * s.row()}},
             Scalar(1), Scalar(0));
    on.run(lstm_step, {output.dtype()}, s.launch(), element(activations, 4 * step.at * s.row()),
           element(gates, step.at * gates.stride(0)), LstmGateStrides{gates.stride(1), gates.stride(2)},
           element(c, earlier), element(cells, step.at * s.row()), element(output, step.at * s.row()), s.batch,
           s.hidden);
  }
}

void lstm_backward(TensorSpan grads, const LstmLayer& layer, const LstmGradients& to) {
  Sizes s{layer.output.size(0), layer.output.size(1), layer.output.size(2)};
  int64_t n = s.hidden, row = s.row();
  if (layer.output.numel() == 0) {
    zero(to.weight);
    return;
  }
  Launcher on(layer.output);
  for (int64_t k = s.steps - 1; k >= 0; k--) {
    Step step(k, s.steps, layer.reverse);
    const Tensor& c = step.before < 0 ? layer.cx : layer.cells;
    int64_t at = step.at * row;
    LstmStepGrads<char> p{element(layer.activations, 4 * at),
                          element(c, std::max<int64_t>(0, step.before) * row),
                          element(layer.cells, at),
                          element_or_null(grads[0], at),
                          element_or_null(grads[1], at),
                          element_or_null(grads[2], 4 * at),
                          to.hx.data(),
                          to.cx.data(),
                          element(to.gates, 4 * at)};
    on.run(lstm_step_backward, {layer.output.dtype()}, s.launch(), p, s.batch, n);
    multiply(to.hx, to.gates, layer.weight, {1, s.batch, n, 4 * n, {0, 4 * n, 1, 4 * at}, {0, n, 1}, {0, n, 1}},
             Scalar(1), Scalar(0));
  }
  // The weight gradient is the sum over steps of (gradient of the gate sums)^T (previous hidden state): two products
  // over all rows at once, since the previous states are the outputs shifted by one step.
  int64_t first = layer.reverse ? s.steps - 1 : 0, rest = layer.reverse ? 0 : 1, states = layer.reverse ? 1 : 0;
  multiply(to.weight, to.gates, layer.hx, {1, 4 * n, n, s.batch, {0, 1, 4 * n, first * 4 * row}, {0, n, 1}, {0, n, 1}},
           Scalar(1), Scalar(0));
  multiply(to.weight, to.gates, layer.output,
           {1, 4 * n, n, (s.steps - 1) * s.batch, {0, 1, 4 * n, rest * 4 * row}, {0, n, 1, states * row}, {0, n, 1}},
           Scalar(1), Scalar(1));
}

}  // namespace

const RecurrentKernels recurrent_kernels = {.lstm = lstm, .lstm_backward = lstm_backward};

}  // namespace undertow::core::cuda
