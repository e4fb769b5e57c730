// test_graph.cpp: nodes, edges, hooks of nodes, nodes of the user's, and the engine, through the C++ API.
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

using namespace undertow;
using namespace undertow::autograd;

static double value(const Tensor& t) { return t.item<double>(); }

static void test_the_graph_can_be_walked() {
  Tensor x = ones({2}, requires_grad()), y = x * 2, z = y.sum();
  auto node = z.grad_fn();
  CHECK(node && node->name() == "SumBackward0" && node == z.grad_fn() && x.grad_fn() == nullptr);
  edge_list edges = node->next_edges();
  CHECK(edges.size() == 1 && edges[0].function == y.grad_fn() && edges[0] == gradient_edge(y));
  auto leaf = edges[0].function->next_edge(0).function;
  CHECK(leaf->name() == "AccumulateGrad" && leaf == grad_accumulator(x) && leaf->num_outputs() == 0);
  CHECK(!gradient_edge(ones({1})).is_valid() && node->num_inputs() == 1);
  CHECK(throws([&] { (void)node->next_edge(1); }, "has 1 edges"));
  variable_list out = (*y.grad_fn())({ones({2})});
  CHECK(value(out[0].sum()) == 4);
}

struct Doubles : FunctionPreHook {
  variable_list operator()(const variable_list& grads) override { return {grads[0] * 2}; }
};
struct Counts : FunctionPostHook {
  explicit Counts(int& n) : n(n) {}
  variable_list operator()(const variable_list& outputs, const variable_list& inputs) override {
    n += static_cast<int>(outputs.size() + inputs.size());
    return outputs;
  }
  int& n;
};

static void test_hooks_of_nodes() {
  Tensor x = ones({1}, requires_grad()), y = x * 3;
  int n = 0;
  unsigned pre = y.grad_fn()->add_pre_hook(std::make_unique<Doubles>());
  unsigned post = y.grad_fn()->add_post_hook(std::make_unique<Counts>(n));
  y.sum().backward({}, true);
  CHECK(value(x.grad()) == 6 && n >= 2);
  int before = n;
  y.grad_fn()->remove_pre_hook(pre);
  y.grad_fn()->remove_post_hook(post);
  y.sum().backward();
  CHECK(value(x.grad()) == 9 && n == before);
  CHECK(throws([&] { y.grad_fn()->remove_pre_hook(pre); }, "no hook with the number"));
}

// y = x * factor, kept for backward as a tensor.
struct ScaleBackward : Node {
  ScaleBackward(edge_list edges, const Tensor& factor) : Node(std::move(edges)), factor_(factor, false) {}
  variable_list apply(variable_list&& grads) override { return {grads[0] * factor_.unpack(getptr())}; }
  void release_variables() override { factor_.reset_data(); }
  ~ScaleBackward() override { destroyed++; }
  static inline int destroyed = 0;

 private:
  SavedVariable factor_;
};
static Tensor scale(const Tensor& x, const Tensor& factor) {
  Tensor y;
  {
    NoGradGuard no_grad;
    y = x * factor;
  }
  auto node = std::make_shared<ScaleBackward>(collect_next_edges(x), factor);
  set_history(y, node);
  return y;
}

static void test_nodes_of_the_user() {
  Tensor x = ones({2}, requires_grad()), factor = tensor({2.0, 5.0}), y = scale(x, factor);
  CHECK(y.grad_fn()->name() == "ScaleBackward" && std::dynamic_pointer_cast<ScaleBackward>(y.grad_fn()));
  Tensor loss = (y * y).sum();
  loss.backward();
  CHECK(value(x.grad()[0]) == 8 && value(x.grad()[1]) == 50);
  CHECK(throws([&] { loss.backward(); }, "second time"));
  int before = ScaleBackward::destroyed;
  loss = y = Tensor();
  CHECK(ScaleBackward::destroyed == before + 1);
  Tensor z = scale(x, factor);
  factor.mul_(2);
  CHECK(throws([&] { z.sum().backward(); }, "modified by an inplace operation"));
  auto alone = std::make_shared<ScaleBackward>(edge_list(), factor);
  std::weak_ptr<Node> weak = alone;
  alone.reset();
  CHECK(weak.expired());
}

static void test_a_long_chain_of_user_nodes_is_freed_without_recursion() {
  Tensor x = ones({1}, requires_grad()), one = ones({1});
  int before = ScaleBackward::destroyed;
  {
    Tensor y = x;
    for (int i = 0; i < 200000; i++) y = scale(y, one);
    y.sum().backward();
  }
  CHECK(ScaleBackward::destroyed == before + 200000 && value(x.grad()) == 1);
}

static void test_the_engine_runs_from_edges() {
  Tensor x = ones({2}, requires_grad()), y = x * 3;
  Engine& engine = Engine::get_default_engine();
  CHECK(&engine == &Engine::get_default_engine() && engine.is_checkpoint_valid());
  variable_list got = engine.execute({gradient_edge(y)}, {ones({2})}, true, false, false, {gradient_edge(x)});
  CHECK(got.size() == 1 && value(got[0].sum()) == 6 && !x.grad().defined());
  bool called = false, valid = true;
  y.register_hook([&](const Tensor&) {
    engine.queue_callback([&] { called = true; });
    valid = engine.is_checkpoint_valid();
  });
  engine.execute({gradient_edge(y)}, {ones({2})}, true, false, true);
  CHECK(called && valid && value(x.grad().sum()) == 6);
  autograd::grad({y.sum()}, {x});
  CHECK(!valid);
  CHECK(throws([&] { engine.queue_callback([] {}); }, "backward"));
  CHECK(throws([&] { engine.execute({Edge()}, {ones({2})}, false, false, true); },
               "element 0 of roots is an invalid edge"));
}

static void test_errors_name_the_element() {
  Tensor x = ones({2}, requires_grad());
  CHECK(throws([&] { autograd::backward({x.sum(), ones({})}); }, "element 1 of tensors does not require grad"));
  CHECK(throws([&] { autograd::backward({x.sum(), x}); }, "grad can be implicitly created only for scalar outputs"));
  CHECK(throws([&] { autograd::backward({x.sum()}, {ones({2}), ones({2})}); }, "got 1 tensors and 2 gradients"));
  CHECK(throws([&] { autograd::grad({x.sum()}, {x, ones({1})}); },
               "element 1 of the input tensors does not require grad"));
}

static void test_forward_mode() {
  Tensor x = tensor({2.0, 3.0}), v = tensor({1.0, 10.0});
  {
    forward_ad::DualLevel level;
    Tensor dual = forward_ad::make_dual(x, v);
    auto [y, dy] = forward_ad::unpack_dual(dual * dual);
    CHECK(value(y[1]) == 9 && value(dy[0]) == 4 && value(dy[1]) == 60);
    CHECK(!forward_ad::unpack_dual(x).tangent.defined());
    CHECK(throws([] { forward_ad::DualLevel second; }, "Nested forward mode"));
  }
  CHECK(throws([&] { forward_ad::make_dual(x, v); }, "no level exists"));
}

int main() {
  test_the_graph_can_be_walked();
  test_hooks_of_nodes();
  test_nodes_of_the_user();
  test_a_long_chain_of_user_nodes_is_freed_without_recursion();
  test_the_engine_runs_from_edges();
  test_errors_name_the_element();
  test_forward_mode();
  return report("test_graph");
}
