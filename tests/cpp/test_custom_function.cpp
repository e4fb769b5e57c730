// test_custom_function.cpp: operations with their own derivative, from C++: the history of their results.
#include "core/autograd/custom_function.h"

#include "core/autograd/autograd.h"
#include "core/graph/autograd_meta.h"
#include "generated/ops.h"
#include "tests/cpp/check.h"
#include "tests/cpp/toy_nodes.h"

using namespace toy;

namespace {

// Multiplies the incoming gradient by a factor, whatever forward did.
class FactorBackward final : public NodeWithEdges<1> {
 public:
  explicit FactorBackward(double factor) : factor_(factor) {}
  UT_NODE_MEMORY(FactorBackward)
  std::string name() const override { return "FactorBackward"; }
  void apply(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override {
    for (const Tensor& g : grad_outputs)
      if (g.defined())
        grad_inputs[0] = grad_inputs[0].defined() ? grad_inputs[0] + g * Scalar(factor_) : g * Scalar(factor_);
  }

 private:
  double factor_;
};

Ref<Node> node_for(const Tensor& x) {
  auto node = Ref<Node>::adopt(new FactorBackward(10));
  node->edges()[0] = gradient_edge(x);
  node->finish_recording();
  return node;
}

Tensor call_on(const Tensor& x, const Tensor& raw, std::span<const Tensor> dirty = {},
               std::span<const Tensor> plain = {}) {
  const Tensor* inputs[] = {&x};
  Tensor result;
  autograd::CustomCall call{.inputs = inputs,
                            .raw = {&raw, 1},
                            .results = {&result, 1},
                            .non_differentiable = plain,
                            .dirty = dirty,
                            .saved_in_setup = {},
                            .node = node_for(x)};
  autograd::record_results(call);
  return result;
}

Tensor silently(const Tensor& x, Tensor (*f)(const Tensor&)) {
  NoGradGuard no_grad;
  return f(x);
}

}  // namespace

static void test_a_fresh_result_gets_the_node() {
  Tensor x = leaf(3);
  Tensor y = call_on(x, silently(x, [](const Tensor& t) { return t * 2.0; }));
  CHECK(y.impl()->grad_fn && y.impl()->grad_fn->name() == "FactorBackward");
  autograd::backward({ops::sum(y)});
  CHECK(first(grad_of(x)) == 10);
}

static void test_a_returned_input_becomes_a_view() {
  Tensor x = leaf(3);
  Tensor y = call_on(x, x);
  CHECK(!y.is_same(x) && y.impl()->has(kIsView) && x.is_leaf());
  autograd::backward({ops::sum(y)});
  CHECK(first(grad_of(x)) == 10);
  CHECK(throws([&] { ops::mul_(y, Scalar(2)); }, "This view was created inside a custom Function"));
}

static void test_a_written_input_is_rebased() {
  Tensor x = leaf(3);
  Tensor z = x * 1.0;
  {
    NoGradGuard no_grad;
    ops::mul_(z, Scalar(2));
  }
  Tensor dirty[] = {z};
  Tensor y = call_on(z, z, dirty);
  CHECK(y.is_same(z) && z.version() == 2);
  autograd::backward({ops::sum(z)});
  CHECK(first(grad_of(x)) == 10);
  Tensor w = leaf(3);
  Tensor dirty_leaf[] = {w};
  CHECK(throws([&] { call_on(w, w, dirty_leaf); },
               "a leaf Variable that requires grad has been used in an in-place operation"));
  CHECK(throws([&] { call_on(x, x * 2.0, dirty); },
               "Some elements marked as dirty during the forward method were not returned as output"));
}

static void test_a_result_without_derivative_has_no_history() {
  Tensor x = leaf(3);
  Tensor raw = silently(x, [](const Tensor& t) { return t * 2.0; });
  Tensor plain[] = {raw};
  Tensor y = call_on(x, raw, {}, plain);
  CHECK(y.is_same(raw) && !y.requires_grad());
}

int main() {
  test_a_fresh_result_gets_the_node();
  test_a_returned_input_becomes_a_view();
  test_a_written_input_is_rebased();
  test_a_result_without_derivative_has_no_history();
  return report("test_custom_function");
}
