// recurrent.cpp: the CPU's RecurrentKernels: for each step, matrix products, then one loop over the gates.
// build: small
#include "core/kernels/recurrent.h"

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/matmul/gemm_panels.h"
#include "core/kernels/cpu/recurrent/recurrent_kernels.h"

namespace undertow::core::cpu {

namespace {

template <class T>
const LstmKernels<T>& lstm_kernels() {
  if constexpr (std::is_same_v<T, float>)
    return UNDERTOW_CHOOSE_ISA(lstm_float());
  else
    return UNDERTOW_CHOOSE_ISA(lstm_double());
}

struct Sizes {
  int64_t steps, batch, hidden;
  int64_t grain() const { return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, hidden)); }  // rows per thread

  // Note [Rows Of A Batch]
  // The sequences of a batch are independent in a recurrent layer; they only share its weights. So a thread takes some
  // rows through all steps without synchronization, with weights packed once for all steps and threads. If a batch has
  // too few rows for efficient products on two threads, or weights that a product of few rows would read too often,
  // each step is divided instead.
  bool by_rows() const { return batch >= 8 && steps > 1 && hidden * hidden * batch >= (1 << 15); }
  // Rows per thread: eight are enough to keep the multipliers busy; more for large weights, which come from the
  // last-level cache.
  int64_t rows() const {
    int64_t least = 4 * hidden * hidden > (1 << 17) ? 16 : 8;
    return batch >= 2 * least ? least : (batch + 1) / 2;
  }
};

// A matrix packed as the right side of products. See Note [Packed Panels].
template <class T>
struct Packed {
  Tensor panels;
  int64_t k, n;
  Packed(int64_t k, int64_t n, const T* b, int64_t row_stride, int64_t column_stride, DType dtype) : k(k), n(n) {
    const int64_t size = panel_elements<T>(k, n), panel = panel_columns<T>();
    panels = empty(IntSpan(&size, 1), dtype, kCpu);
    T* to = panels.data_as<T>();
    parallel_for(0, n, std::max<int64_t>(1, (1 << 15) / (k * panel)) * panel, [&](int64_t begin, int64_t end) {
      pack_panels<T>(k, end - begin, b + begin * column_stride, row_stride, column_stride, to + begin * k);
    });
  }
  // c = a b + beta c, all rows contiguous.
  void multiply(int64_t rows, const T* a, T beta, T* c) const {
    multiply_panels<T>({rows, n, k, T(1), a, k, 1, panels.data_as<T>(), 0, 0, beta, c, n, 1});
  }
};

// Calls f(t, previous t, or -1 for the first step) in the order in which the layer runs.
template <class F>
void run_steps(const Sizes& s, bool reverse, F&& f) {
  for (int64_t k = 0; k < s.steps; k++)
    if (reverse)
      f(s.steps - 1 - k, k == 0 ? -1 : s.steps - k);
    else
      f(k, k - 1);
}
template <class F>
void run_steps_back(const Sizes& s, bool reverse, F&& f) {
  for (int64_t k = s.steps - 1; k >= 0; k--)
    if (reverse)
      f(s.steps - 1 - k, k == 0 ? -1 : s.steps - k);
    else
      f(k, k - 1);
}

template <class T>
void run(const Sizes& s, const Tensor& hx, const Tensor& cx, const Tensor& weight, const Tensor& output,
         const Tensor& cells, const Tensor& activations, bool reverse) {
  const auto& kernels = lstm_kernels<T>();
  int64_t n = s.hidden, row = s.batch * n;
  T *gates = activations.data_as<T>(), *out = output.data_as<T>(), *c = cells.data_as<T>();
  run_steps(s, reverse, [&](int64_t t, int64_t before) {
    const T* h = before < 0 ? hx.data_as<T>() : out + before * row;
    gemm<T>(s.batch, 4 * n, n, T(1), h, n, 1, weight.data_as<T>(), weight.stride(1), weight.stride(0), T(1),
            gates + t * 4 * row, 4 * n, 1);
    const T* c_before = before < 0 ? cx.data_as<T>() : c + before * row;
    parallel_for(0, s.batch, s.grain(), [&](int64_t begin, int64_t end) {
      int64_t at = t * row + begin * n;
      kernels.step({gates + 4 * at, c_before + begin * n, c + at, out + at}, end - begin, n);
    });
  });
}

template <class T>
void run_by_rows(const Sizes& s, const Tensor& gates, const Tensor& hx, const Tensor& cx, const Tensor& weight,
                 const Tensor& output, const Tensor& cells, const Tensor& activations, bool reverse) {
  const auto& kernels = lstm_kernels<T>();
  int64_t n = s.hidden, row = s.batch * n;
  T *a = activations.data_as<T>(), *out = output.data_as<T>(), *c = cells.data_as<T>();
  const T* given = gates.data_as<T>();
  Packed<T> transposed(n, 4 * n, weight.data_as<T>(), weight.stride(1), weight.stride(0), gates.dtype());
  parallel_for(0, s.batch, s.rows(), [&](int64_t begin, int64_t end) {
    int64_t mine = begin * n, rows = end - begin;
    run_steps(s, reverse, [&](int64_t t, int64_t before) {
      int64_t at = t * row + mine;
      const T *h = before < 0 ? hx.data_as<T>() + mine : out + before * row + mine,
              *c_before = before < 0 ? cx.data_as<T>() + mine : c + before * row + mine;
      std::copy(given + 4 * at, given + 4 * (at + rows * n), a + 4 * at);
      transposed.multiply(rows, h, T(1), a + 4 * at);
      kernels.step({a + 4 * at, c_before, c + at, out + at}, rows, n);
    });
  });
}

template <class T>
void run_back(const Sizes& s, TensorSpan grads, const LstmLayer& layer, const LstmGradients& to) {
  const auto& kernels = lstm_kernels<T>();
  int64_t n = s.hidden, row = s.batch * n;
  T *sums = to.gates.data_as<T>(), *dh = to.hx.data_as<T>(), *dc = to.cx.data_as<T>(), *dw = to.weight.data_as<T>();
  const T *weight = layer.weight.data_as<T>(), *cells = layer.cells.data_as<T>(),
          *gates = layer.activations.data_as<T>(), *out = layer.output.data_as<T>();
  const T* given[3];
  for (int k = 0; k < 3; k++) given[k] = grads[k].defined() ? grads[k].data_as<T>() : nullptr;
  auto step_back = [&](int64_t t, int64_t before, int64_t begin, int64_t end) {
    const T* c_before = before < 0 ? layer.cx.data_as<T>() : cells + before * row;
    int64_t at = t * row + begin * n, in_row = begin * n;
    kernels.backward({gates + 4 * at, c_before + in_row, cells + at, given[0] ? given[0] + at : nullptr,
                      given[1] ? given[1] + at : nullptr, given[2] ? given[2] + 4 * at : nullptr, dh + in_row,
                      dc + in_row, sums + 4 * at},
                     end - begin, n);
  };
  if (s.by_rows()) {
    Packed<T> packed(4 * n, n, weight, n, 1, to.gates.dtype());
    parallel_for(0, s.batch, s.rows(), [&](int64_t begin, int64_t end) {
      run_steps_back(s, layer.reverse, [&](int64_t t, int64_t before) {
        step_back(t, before, begin, end);
        packed.multiply(end - begin, sums + 4 * (t * row + begin * n), T(0), dh + begin * n);
      });
    });
  } else {
    run_steps_back(s, layer.reverse, [&](int64_t t, int64_t before) {
      parallel_for(0, s.batch, s.grain(), [&](int64_t begin, int64_t end) { step_back(t, before, begin, end); });
      gemm<T>(s.batch, n, 4 * n, T(1), sums + t * 4 * row, 4 * n, 1, weight, n, 1, T(0), dh, n, 1);
    });
  }
  // The weight gradient is the sum over steps of (gradient of the gate sums)^T (previous hidden state): two products
  // over all rows at once, since the previous states are the outputs shifted by one step.
  int64_t first = layer.reverse ? s.steps - 1 : 0, rest = layer.reverse ? 0 : 1, states = layer.reverse ? 1 : 0;
  gemm<T>(4 * n, n, s.batch, T(1), sums + first * 4 * row, 1, 4 * n, layer.hx.data_as<T>(), n, 1, T(0), dw, n, 1);
  gemm<T>(4 * n, n, (s.steps - 1) * s.batch, T(1), sums + rest * 4 * row, 1, 4 * n, out + states * row, n, 1, T(1), dw,
          n, 1);
}

void lstm(const Tensor& output, const Tensor& cells, const Tensor& activations, const Tensor& gates, const Tensor& hx,
          const Tensor& cx, const Tensor& weight, bool reverse) {
  Sizes s{output.size(0), output.size(1), output.size(2)};
  bool is_float = gates.dtype() == DType::Float32;
  if (s.by_rows()) {
    Tensor given = contiguous(gates);
    if (is_float)
      run_by_rows<float>(s, given, hx, cx, weight, output, cells, activations, reverse);
    else
      run_by_rows<double>(s, given, hx, cx, weight, output, cells, activations, reverse);
    return;
  }
  if (gates.numel()) copy(activations, gates);
  if (is_float)
    run<float>(s, hx, cx, weight, output, cells, activations, reverse);
  else
    run<double>(s, hx, cx, weight, output, cells, activations, reverse);
}

void lstm_backward(TensorSpan grads, const LstmLayer& layer, const LstmGradients& to) {
  Sizes s{layer.output.size(0), layer.output.size(1), layer.output.size(2)};
  if (layer.output.dtype() == DType::Float32)
    run_back<float>(s, grads, layer, to);
  else
    run_back<double>(s, grads, layer, to);
}

}  // namespace

constinit const RecurrentKernels recurrent_kernels = {.lstm = lstm, .lstm_backward = lstm_backward};

}  // namespace undertow::core::cpu
