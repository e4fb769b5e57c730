// example.cpp: a C++ program that defines its own derivative: a node that clips the gradient.
// It is built against an installed package; see CMakeLists.txt in this folder.
#include <cmath>
#include <cstdio>

#include "core/autograd/autograd.h"
#include "core/graph/autograd_meta.h"
#include "generated/ops.h"

using namespace undertow::core;

// y = x, but the backward pass clips the gradient to the norm `limit`; for recurrent networks.
class ClipGradientBackward final : public NodeWithEdges<1> {
 public:
  explicit ClipGradientBackward(double limit) : limit_(limit) {}
  UT_NODE_MEMORY(ClipGradientBackward)
  std::string name() const override { return "ClipGradientBackward"; }

  // grad_outputs: the incoming gradients, one per forward output. grad_inputs: the outgoing ones, one per edge. Calls
  // only public operators, so that with create_graph this derivative can be differentiated again.
  void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override {
    const Tensor& grad = grad_outputs[0];
    if (!grad.defined()) return;
    Tensor squares = ops::sum(grad * grad);
    double length = std::sqrt(ops::item(squares).to<double>());
    grad_inputs[0] = length > limit_ ? grad * Scalar(limit_ / length) : grad;
  }

 private:
  double limit_;
};

Tensor clip_gradient(const Tensor& x, double limit) {
  Tensor y = alias(x);  // the same memory, but its own history
  if (!x.requires_grad() || !grad_enabled()) return y;
  auto node = Ref<Node>::adopt(new ClipGradientBackward(limit));
  node->edges()[0] = gradient_edge(x);
  node->finish_recording();
  set_history(y, node);
  return y;
}

Tensor leaf(std::initializer_list<float> values) {
  int64_t sizes[] = {static_cast<int64_t>(values.size())};
  Tensor t = empty(sizes, DType::Float32);
  std::copy(values.begin(), values.end(), t.data_as<float>());
  t.impl()->set(kRequiresGrad);
  return t;
}

bool close(float a, float b) { return std::fabs(a - b) < 1e-5f; }

int main() {
  Tensor x = leaf({3, 4});

  // backward() adds to .grad. Without the node, the gradient of sum(x*x)/2 is x, with length 5; with it, the length is
  // 1.
  autograd::backward({ops::sum(clip_gradient(x, 1.0) * x)});
  const float* g = grad_of(x).data_as<float>();
  std::printf("backward: %.3f %.3f\n", g[0], g[1]);
  bool ok = close(g[0], 3 + 0.6f) && close(g[1], 4 + 0.8f);

  // grad() returns the gradient; create_graph makes it differentiable: the second derivative of sum(x^3) is 6x.
  Tensor first = autograd::grad({ops::sum(x * x * x)}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
  Tensor second = autograd::grad({ops::sum(first)}, {x})[0];
  std::printf("second derivative: %.1f %.1f\n", second.data_as<float>()[0], second.data_as<float>()[1]);
  ok = ok && close(second.data_as<float>()[0], 18) && close(second.data_as<float>()[1], 24);

  // Mistakes become exceptions with the same messages as in Python.
  try {
    autograd::backward({ops::sum(leaf({1}) * x.data_as<float>()[0]), alias(x)});
    ok = false;
  } catch (const Error& e) {
    std::printf("error: %s\n", e.what());
  }
  std::printf(ok ? "ok\n" : "FAILED\n");
  return ok ? 0 : 1;
}
