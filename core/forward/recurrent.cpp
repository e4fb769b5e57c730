// recurrent.cpp: forward functions of ops/recurrent.toml, and the derivatives of recurrent.h.
// build: small
#include "core/forward/recurrent.h"

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/tensor/layout.h"
#include "generated/fwd.h"

namespace undertow::core::fwd {

namespace {

struct Sizes {
  int64_t steps, batch, hidden;
};

void check_shape(const Tensor& t, const char* name, std::initializer_list<int64_t> expected) {
  IntSpan want(expected.begin(), expected.size());
  UT_CHECK(same(t.sizes(), want), "lstm_layer: ", name, " has shape ", ShapeText{t.sizes()}, ", expected ",
           ShapeText{want});
}

Sizes checked(const Tensor& gates, const Tensor& hx, const Tensor& cx, const Tensor& weight) {
  UT_CHECK(gates.dim() == 3 && weight.dim() == 2, "lstm_layer: expected gates of 3 and weight of 2 dimensions, got ",
           gates.dim(), " and ", weight.dim());
  Sizes s{gates.size(0), gates.size(1), weight.size(1)};
  check_shape(gates, "gates", {s.steps, s.batch, 4 * s.hidden});
  check_shape(weight, "weight", {4 * s.hidden, s.hidden});
  check_shape(hx, "hx", {s.batch, s.hidden});
  check_shape(cx, "cx", {s.batch, s.hidden});
  DType t = gates.dtype();
  UT_CHECK_TYPE(t == DType::Float32 || t == DType::Float64, "lstm_layer: expected float32 or float64, got ", t);
  UT_CHECK(hx.dtype() == t && cx.dtype() == t && weight.dtype() == t,
           "lstm_layer: all tensors must have the same dtype; got ", t, ", ", hx.dtype(), ", ", cx.dtype(), ", ",
           weight.dtype());
  return s;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm_layer(const Tensor& gates, const Tensor& hx, const Tensor& cx,
                                              const Tensor& weight, bool reverse) {
  Sizes s = checked(gates, hx, cx, weight);
  Dims states{s.steps, s.batch, s.hidden};
  Tensor output = empty_on_device_of(gates, states, gates.dtype()),
         cells = empty_on_device_of(gates, states, gates.dtype()),
         activations = empty_on_device_of(gates, gates.sizes(), gates.dtype());
  backend_of(gates).recurrent->lstm(output, cells, activations, gates, contiguous(hx), contiguous(cx), weight, reverse);
  return {output, cells, activations};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> lstm_layer_backward(std::span<const Tensor> grads, const LstmLayer& layer) {
  DType t = layer.output.dtype();
  Tensor hx = contiguous(layer.hx), cx = contiguous(layer.cx), weight = contiguous(layer.weight);
  Tensor output = contiguous(layer.output), cells = contiguous(layer.cells),
         activations = contiguous(layer.activations);
  Tensor given[3];
  for (int k = 0; k < 3; k++)
    if (grads[k].defined()) given[k] = contiguous(to_dtype(grads[k], t));
  Tensor grad_gates = empty_on_device_of(output, activations.sizes(), t),
         grad_hx = zeros_on_device_of(output, hx.sizes(), t), grad_cx = zeros_on_device_of(output, cx.sizes(), t),
         grad_weight = empty_on_device_of(output, weight.sizes(), t);
  backend_of(output).recurrent->lstm_backward(given, {hx, cx, weight, output, cells, activations, layer.reverse},
                                              {grad_gates, grad_hx, grad_cx, grad_weight});
  return {grad_gates, grad_hx, grad_cx, grad_weight};
}

}  // namespace undertow::core::fwd
