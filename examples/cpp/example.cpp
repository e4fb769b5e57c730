// example.cpp: a C++ program that trains a small network, with a derivative of its own that clips gradients.
// It is built against an installed package; see CMakeLists.txt in this folder.
#include <undertow/undertow.h>

#include <iostream>

namespace ut = undertow;
using ut::Tensor;
using ut::autograd::AutogradContext;
using ut::autograd::variable_list;

// y = x, but the backward pass clips the gradient to the length `limit`; for recurrent networks.
struct ClipGradient : ut::autograd::Function<ClipGradient> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double limit) {
    ctx->saved_data["limit"] = limit;
    return x.view_as(x);
  }
  // One gradient per argument of forward. Calls only operators, so with create_graph it can be differentiated again.
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    double limit = ctx->saved_data["limit"].toDouble(), length = grads[0].norm().item<double>();
    return {length > limit ? grads[0] * (limit / length) : grads[0], Tensor()};
  }
};

int main() {
  // backward() adds to .grad. Without the clipping the gradient of sum(x * x) / 2 is x, with length 5.
  Tensor x = ut::tensor({3.0, 4.0}, ut::requires_grad());
  (ClipGradient::apply(x, 1.0) * x).sum().backward();
  std::cout << "gradient: " << x.grad() << '\n';
  bool ok = x.grad().allclose(ut::tensor({3.6, 4.8}));

  // grad() returns the gradient; create_graph makes it differentiable: the second derivative of sum(x^3) is 6x.
  Tensor first = ut::autograd::grad({x.pow(3).sum()}, {x}, {}, ut::nullopt, /*create_graph=*/true)[0];
  Tensor second = ut::autograd::grad({first.sum()}, {x})[0];
  std::cout << "second derivative: " << second << '\n';
  ok = ok && second.equal(ut::tensor({18.0, 24.0}));

  // Fit y = sin(3x) with one hidden layer, by gradient descent.
  ut::manual_seed(0);
  Tensor input = ut::linspace(-1, 1, 64).view({-1, 1}), target = (3 * input).sin();
  variable_list parameters = {ut::randn({1, 16}), ut::zeros({16}), ut::randn({16, 1}) * 0.25, ut::zeros({1})};
  for (Tensor& p : parameters) p.requires_grad_();
  double loss_value = 0;
  for (int step = 0; step < 500; step++) {
    Tensor hidden = (input.matmul(parameters[0]) + parameters[1]).tanh();
    Tensor loss = (hidden.matmul(parameters[2]) + parameters[3] - target).square().mean();
    loss.backward();
    ut::NoGradGuard no_grad;
    for (Tensor& p : parameters) {
      p -= 0.2 * p.grad();
      p.mutable_grad().zero_();
    }
    loss_value = loss.item<double>();
  }
  std::cout << "loss: " << loss_value << '\n';
  ok = ok && loss_value < 0.02;

  // Mistakes become exceptions with the same messages as in Python.
  try {
    ut::autograd::backward({x.sum(), ut::ones({})});
    ok = false;
  } catch (const ut::Error& e) {
    std::cout << "error: " << e.what() << '\n';
  }
  std::cout << (ok ? "ok\n" : "FAILED\n");
  return ok ? 0 : 1;
}
