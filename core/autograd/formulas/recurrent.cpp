// recurrent.cpp: derivatives of recurrent layers: one kernel if nothing is recorded, otherwise operators.
// build: small
#include "core/forward/recurrent.h"

#include "core/autograd/formulas/formulas.h"
#include "core/autograd/fused_formula.h"

namespace undertow::core::ops {

namespace {

Tensor at(const Tensor& t, int64_t step) { return t.defined() ? select(t, 0, step) : Tensor(); }

}  // namespace

// h = o tanh(c), c = f c' + i g, and every gate is an activation of its sum. The same derivation is in
// core/kernels/cpu/recurrent/recurrent.isa.cpp. Activations, cells and outputs are the layer's own results, so a second
// derivative continues through its node.
std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_layer_backward(std::span<Tensor> grads, const Tensor& hx,
                                                               const Tensor& cx, const Tensor& weight,
                                                               const Tensor& output, const Tensor& cells,
                                                               const Tensor& activations, bool reverse) {
  if (!needs_operators()) return fwd::lstm_layer_backward(grads, {hx, cx, weight, output, cells, activations, reverse});
  int64_t steps = output.size(0);
  const Scalar one(1);
  Tensor dh, dc, grad_weight;
  std::vector<Tensor> sums(steps);
  for (int64_t k = steps - 1; k >= 0; k--) {
    int64_t t = reverse ? steps - 1 - k : k, before = reverse ? t + 1 : t - 1;
    Tensor h_before = k == 0 ? hx : at(output, before), c_before = k == 0 ? cx : at(cells, before),
           bounded = tanh(at(cells, t));
    std::vector<Tensor> a = chunk(at(activations, t), 4, -1);
    const Tensor &i = a[0], &f = a[1], &g = a[2], &o = a[3];
    dh = self_t_plus(dh, at(grads[0], t));
    dc = self_t_plus(dc, at(grads[1], t));
    if (!dh.defined()) dh = zeros_like_grad(bounded);
    if (!dc.defined()) dc = zeros_like_grad(bounded);
    dc = dc + dh * o * (one - bounded * bounded);
    std::vector<Tensor> to{dc * g, dc * c_before, dc * i, dh * bounded};
    Tensor more = at(grads[2], t), to_gates = cat(to, -1);
    if (more.defined()) to_gates = to_gates + more;
    std::vector<Tensor> derivatives{i * (one - i), f * (one - f), one - g * g, o * (one - o)};
    sums[t] = to_gates * cat(derivatives, -1);
    grad_weight = self_t_plus(grad_weight, matmul(transpose(sums[t], 0, 1), h_before));
    dh = matmul(sums[t], weight);
    dc = dc * f;
  }
  return {stack(sums, 0), dh, dc, grad_weight};
}

}  // namespace undertow::core::ops
