// test_function.cpp: autograd::Function<T>: saved tensors and values, marks, double backward, forward mode, errors.
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

using namespace undertow;
using autograd::AutogradContext;

static double value(const Tensor& t) { return t.item<double>(); }

namespace ours {

struct Cube : autograd::Function<Cube> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    Tensor x = ctx->get_saved_variables()[0];
    return {3 * x * x * grads[0]};
  }
  static variable_list jvp(AutogradContext* ctx, variable_list tangents) {
    Tensor x = ctx->get_saved_variables()[0];
    return {3 * x * x * tangents[0]};
  }
};

// Its derivative is computed from the saved result.
struct Exponential : autograd::Function<Exponential> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    Tensor y = x.exp();
    ctx->save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {ctx->get_saved_variables()[0] * grads[0]};
  }
};

// a * x + y with numbers and a list among the arguments.
struct Mixed : autograd::Function<Mixed> {
  static variable_list forward(AutogradContext* ctx, double a, const Tensor& x, const variable_list& more,
                               std::string name) {
    ctx->saved_data["a"] = a;
    ctx->saved_data["name"] = name;
    ctx->saved_data["sizes"] = x.sizes();
    ctx->set_materialize_grads(false);
    return {a * x, more[0] + more[1]};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    CHECK(ctx->saved_data["name"].toStringRef() == "n" && ctx->saved_data["sizes"].toIntVector().size() == 1);
    CHECK(ctx->needs_input_grad(0) && !ctx->needs_input_grad(2));
    Tensor dx = grads[0].defined() ? ctx->saved_data["a"].toDouble() * grads[0] : Tensor();
    return {Tensor(), dx, grads[1], grads[1], Tensor()};
  }
};

struct InPlace : autograd::Function<InPlace> {
  static Tensor forward(AutogradContext* ctx, Tensor x) {
    x.mul_(5);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0] * 5}; }
};

struct WithPlaces : autograd::Function<WithPlaces> {
  static std::tuple<Tensor, Tensor> forward(AutogradContext* ctx, const Tensor& x) {
    auto [v, i] = x.max(0);
    Tensor rounded = x.round();
    ctx->mark_non_differentiable({rounded});
    return {v * 1, rounded};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    CHECK(grads.size() == 2);
    return {grads[0].expand({2})};
  }
};

struct WrongCount : autograd::Function<WrongCount> {
  static Tensor forward(AutogradContext*, const Tensor& x, int64_t) { return x * 1; }
  static variable_list backward(AutogradContext*, variable_list grads) { return {grads[0]}; }
};

// Its first result has no derivative.
struct TwoResults : autograd::Function<TwoResults> {
  static variable_list forward(autograd::AutogradContext* ctx, const Tensor& x) {
    Tensor a = x + 1, b = x + 2;
    ctx->mark_non_differentiable({a});
    return {a, b};
  }
  static variable_list backward(autograd::AutogradContext*, variable_list grads) {
    CHECK(grads[0].equal(zeros({3})));
    return {grads[1]};
  }
};
struct Needs : autograd::Function<Needs> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x, const Tensor& y) { return x * y; }
  static variable_list backward(autograd::AutogradContext* ctx, variable_list grads) {
    found = {ctx->needs_input_grad({{0, 1}}), ctx->needs_input_grad({{1, 2}}), ctx->needs_input_grad({{0, 1}, {1, 2}})};
    return {grads[0], grads[0]};
  }
  static inline std::vector<bool> found;
};

}  // namespace ours

static void test_backward_and_double_backward() {
  Tensor x = tensor({2.0}, requires_grad());
  Tensor y = ours::Cube::apply(x);
  CHECK(value(y) == 8 && y.grad_fn()->name() == "CubeBackward");
  Tensor first = autograd::grad({y}, {x}, {}, nullopt, true)[0];
  Tensor second = autograd::grad({first}, {x}, {}, nullopt, true)[0];
  CHECK(value(first) == 12 && value(second) == 12 && value(autograd::grad({second}, {x})[0]) == 6);
  Tensor e = ours::Exponential::apply(x);
  Tensor de = autograd::grad({e}, {x}, {}, nullopt, true)[0];
  Tensor dde = autograd::grad({de}, {x})[0];
  CHECK(de.allclose(x.exp()) && dde.allclose(x.exp()));
  {
    NoGradGuard no_grad;
    CHECK(!ours::Cube::apply(x).requires_grad());
  }
  Tensor again = ours::Cube::apply(x);
  again.backward();
  CHECK(throws([&] { again.backward(); }, "second time"));
}

static void test_other_arguments_and_missing_gradients() {
  Tensor x = ones({1}, requires_grad()), y = ones({1}, requires_grad()), z = ones({1});
  auto out = ours::Mixed::apply(3.0, x, variable_list{y, z}, "n");
  out[0].backward({}, true);
  CHECK(value(x.grad()) == 3 && !y.grad().defined());
  (out[0] + out[1]).backward();
  CHECK(value(x.grad()) == 6 && value(y.grad()) == 1);
}

static void test_marks() {
  Tensor x = ones({1}, requires_grad()), y = x * 1;
  Tensor z = ours::InPlace::apply(y);
  CHECK(z.is_same(y) && value(y) == 5);
  z.backward();
  CHECK(value(x.grad()) == 5);
  CHECK(throws([] { ours::InPlace::apply(ones({1}, requires_grad())); }, "a leaf Variable that requires grad"));
  Tensor w = tensor({1.0, 4.0}, requires_grad());
  auto [v, places] = ours::WithPlaces::apply(w);
  CHECK(v.requires_grad() && !places.requires_grad());
  v.backward();
  CHECK(value(w.grad().sum()) == 2);
}

static void test_missing_gradients_are_zeros_also_of_results_without_a_derivative() {
  Tensor x = ones({3}, requires_grad());
  variable_list out = ours::TwoResults::apply(x);
  CHECK(!out[0].requires_grad() && out[1].requires_grad());
  out[1].sum().backward();
  CHECK(value(x.grad().sum()) == 3);
}

static void test_needs_of_ranges() {
  Tensor x = ones({1}, requires_grad()), y = ones({1});
  ours::Needs::apply(x, y).backward();
  CHECK(ours::Needs::found == std::vector<bool>({true, false, true}));
}

static void test_forward_mode() {
  autograd::forward_ad::DualLevel level;
  Tensor dual = autograd::forward_ad::make_dual(tensor({2.0}), tensor({1.0}));
  CHECK(value(autograd::forward_ad::unpack_dual(ours::Cube::apply(dual)).tangent) == 12);
  CHECK(throws([&] { ours::Exponential::apply(dual); }, "forward AD"));
}

static void test_errors() {
  Tensor x = ones({1}, requires_grad());
  CHECK(throws([&] { ours::WrongCount::apply(x, 1).backward(); },
               "returned an incorrect number of gradients (expected 2, got 1)"));
  Tensor y = x * 2, z = ours::Cube::apply(y);
  y.mul_(2);
  CHECK(throws([&] { z.backward(); }, "modified by an inplace operation"));
}

int main() {
  test_backward_and_double_backward();
  test_other_arguments_and_missing_gradients();
  test_marks();
  test_missing_gradients_are_zeros_also_of_results_without_a_derivative();
  test_needs_of_ranges();
  test_forward_mode();
  test_errors();
  return report("test_function");
}
