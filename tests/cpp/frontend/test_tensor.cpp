// test_tensor.cpp: creation, methods, operators and gradients of undertow::Tensor, as a program uses them.
#include <sstream>

#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

using namespace undertow;

static double value(const Tensor& t) { return t.item<double>(); }
static std::vector<int64_t> dims(std::initializer_list<int64_t> list) { return list; }

static void test_creation_takes_options() {
  Tensor a = ones({2, 3});
  CHECK(a.dtype() == kFloat && a.sizes() == dims({2, 3}) && !a.requires_grad());
  Tensor b = zeros({4}, dtype(kDouble).requires_grad(true));
  CHECK(b.dtype() == kDouble && b.requires_grad() && b.is_leaf());
  CHECK(full({2}, 7, kInt).dtype() == kInt && value(full({2}, 7).sum()) == 14);
  CHECK(arange(5).dtype() == kLong && value(arange(1, 6, 2).sum()) == 9);
  CHECK(rand({3}, requires_grad()).requires_grad());
  CHECK(zeros_like(b).dtype() == kDouble && b.new_ones({2}, kBool).dtype() == kBool);
  manual_seed(3);
  Tensor first = randn({4});
  manual_seed(3);
  CHECK(equal(first, randn({4})));
  CHECK(equal(rand({4}, make_generator(5)), rand({4}, make_generator(5))));
  CHECK(throws([] { zeros({2}, dtype(kLong).requires_grad(true)); }, "can require gradients"));
}

static void test_tensor_from_numbers() {
  Tensor t = tensor({{1, 2, 3}, {4, 5, 6}});
  CHECK(t.dtype() == kLong && t.sizes() == dims({2, 3}) && value(t[1][2]) == 6);
  CHECK(tensor({1.5, 2.0}).dtype() == kFloat && tensor({true, false}).dtype() == kBool);
  CHECK(tensor({1, 2}, kDouble).dtype() == kDouble && tensor(3.5).dim() == 0);
  CHECK(tensor(std::vector<double>{1, 2}).dtype() == kFloat && tensor(std::vector<int>{1}).dtype() == kLong);
  CHECK(tensor(std::vector<int>{1}, kInt).dtype() == kInt && tensor(std::vector<int16_t>{1}).dtype() == kShort);
  CHECK(tensor(std::vector<Half>{Half(1.0f)}).dtype() == kHalf);
  CHECK(tensor({1, 2}, kFloat8_e5m2).dtype() == kFloat8_e5m2);
  CHECK(throws([] { tensor({{1, 2}, {3}}); }, "expected sequence of length 2 at dim 1 (got 1)"));
}

static void test_from_blob_shares_memory() {
  float data[] = {1, 2, 3, 4};
  bool freed = false;
  {
    Tensor t = from_blob(data, {2, 2}, [&](void* p) { freed = p == data; });
    t.mul_(2);
    CHECK(data[3] == 8 && !freed && t.data_ptr<float>() == data);
  }
  CHECK(freed);
}

static void test_methods_and_functions() {
  Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  CHECK(value(x.sum()) == 10 && value(sum(x)) == 10 && value(x.mean()) == 2.5);
  CHECK(x.sum(0).sizes() == dims({2}) && x.sum({0, 1}, true).sizes() == dims({1, 1}));
  auto [values, places] = x.max(1);
  CHECK(value(values[0]) == 2 && value(places[0]) == 1);
  CHECK(x.view({-1}).sizes() == dims({4}) && x.transpose(0, 1).stride(0) == 1 && x.t().size(-1) == 2);
  CHECK(cat({x, x}, 1).sizes() == dims({2, 4}) && x.chunk(2).size() == 2 && stack({x, x}).dim() == 3);
  CHECK(value(x.clamp(2, 3).sum()) == 10 && value(x.clamp(2).sum()) == 11);
  CHECK(value(x.where(x > 2, 0).sum()) == 7 && value(x.matmul(x)[0][0]) == 7);
  CHECK(x.to(kDouble).dtype() == kDouble && x.to(kCPU).is_same(x) && x.to(x.options()).is_same(x));
  CHECK(special_expit(x).allclose(x.sigmoid()) && value(x.nonzero_numpy()[0].sum()) == 2);
  CHECK(throws([&] { x.view({3}); }, "invalid for input of size 4") &&
        throws([&] { (void)x.size(2); }, "out of range"));
}

static void test_operators() {
  Tensor x = tensor({1.0, 2.0, 3.0});
  CHECK(value((x + x).sum()) == 12 && value((x + 1).sum()) == 9 && value((1 + x).sum()) == 9);
  CHECK(value((10 - x).sum()) == 24 && value((6 / x).sum()) == 11 && value((-x).sum()) == -6);
  CHECK(value((x > 1).sum()) == 2 && value((x == 2).sum()) == 1 && value((2 >= x).sum()) == 2);
  CHECK(value(((x > 1) & (x < 3)).sum()) == 1 && value((~(x > 1)).sum()) == 1 && value((x % 2).sum()) == 2);
  x += 1;
  x *= 2;
  CHECK(value(x.sum()) == 18);
  x[0] = 0;
  x[1] = x[2];
  CHECK(value(x.sum()) == 16);
  Tensor other = x;
  other = ones({1});
  CHECK(x.numel() == 3);
}

static void test_backward_and_grad() {
  Tensor x = tensor({3.0, 4.0}, requires_grad()), y = tensor({1.0, 2.0}, requires_grad());
  Tensor loss = (x * x * y).sum();
  CHECK(!x.grad().defined() && loss.requires_grad() && !loss.is_leaf());
  loss.backward({}, /*retain_graph=*/true);
  CHECK(value(x.grad()[0]) == 6 && value(y.grad()[1]) == 16);
  loss.backward(Tensor(), true, false, TensorList{x});
  CHECK(value(x.grad()[0]) == 12 && value(y.grad()[1]) == 16);
  auto first = autograd::grad({loss}, {x}, {}, nullopt, /*create_graph=*/true);
  auto second = autograd::grad({first[0].sum()}, {x, y});
  CHECK(value(second[0][1]) == 4 && value(second[1][0]) == 6);
  x.mutable_grad().reset();
  CHECK(!x.grad().defined());
  {
    NoGradGuard no_grad;
    CHECK(!(x * 2).requires_grad() && !GradMode::is_enabled());
    AutoGradMode on(true);
    CHECK((x * 2).requires_grad());
  }
  CHECK(throws([&] { autograd::backward({loss, ones({})}); },
               "element 1 of tensors does not require grad and does not have a grad_fn"));
  CHECK(throws([&] { autograd::grad({x.sum()}, {x, ones({})}); }, "does not require grad"));
}

static void test_printing_shows_the_history() {
  Tensor x = ones({2}, requires_grad());
  CHECK(repr(x) == "tensor([1., 1.], requires_grad=True)");
  CHECK(repr(x * 2) == "tensor([2., 2.], grad_fn=<MulBackward0>)");
  CHECK(repr(Tensor()) == "[ Tensor (undefined) ]");
  PrintOptions options;
  options.precision = 1;
  CHECK(repr(tensor({0.25, 1.5}), options) == "tensor([0.2, 1.5])");
  forward_ad::DualLevel level;
  CHECK(repr(forward_ad::make_dual(ones({1}), ones({1}))) == "tensor([1.], tangent=tensor([1.]))");
}

static void test_hooks_can_be_removed() {
  Tensor x = tensor({1.0}, requires_grad()), y = x * 3;
  int calls = 0;
  unsigned on_leaf = x.register_hook([&](const Tensor&) { calls++; });
  unsigned on_result = y.register_hook([](Tensor grad) { return grad * 2; });
  y.sum().backward({}, true);
  CHECK(calls == 1 && value(x.grad()) == 6);
  x.remove_hook(on_leaf);
  y.remove_hook(on_result);
  y.sum().backward();
  CHECK(calls == 1 && value(x.grad()) == 9);
  CHECK(throws([&] { x.remove_hook(on_leaf); }, "has no hook with the number"));
  CHECK(throws([] { ones({1}).register_hook([](const Tensor&) {}); }, "doesn't require gradient"));
}

static void test_inference_mode() {
  Tensor x = ones({2}, requires_grad());
  Tensor y;
  {
    InferenceMode guard;
    y = x * 2;
    CHECK(y.is_inference() && !y.requires_grad() && InferenceMode::is_enabled());
    InferenceMode off(false);
    CHECK(!InferenceMode::is_enabled() && (x * 2).requires_grad());
    NoGradGuard no_grad;
    InferenceMode records(false);
    CHECK((x * 2).requires_grad());
  }
  CHECK(throws([&] { (x * y).sum().backward(); }, "nference tensor"));
}

static void test_old_names_of_dtype_and_memory() {
  Tensor x = ones({2}, kInt), y = zeros({3}, x.type());
  CHECK(y.scalar_type() == kInt && x.type() == y.type() && x.type().scalarType() == kInt && !x.type().is_cuda());
  CHECK(x.data<int>() == x.data_ptr<int>() && !(x.type() == ones({1}).type()));
  Tensor table = ones({3, 2}, requires_grad());
  embedding(table, x, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false, /*sparse=*/true).sum().backward();
  CHECK(table.grad().type().is_sparse() && !table.type().is_sparse() && !(table.grad().type() == table.type()));
}

static void test_arange_takes_options_without_a_step() {
  CHECK(arange(0, 3, kDouble).equal(arange(0, 3, 1, kDouble)) &&
        arange(2, 4, dtype(kFloat).requires_grad(true)).requires_grad());
  CHECK(range(0, 3, kInt).numel() == 4 && logspace(0, 2, 3, kDouble).dtype() == kDouble);
}

static void test_complex_and_half_numbers_keep_their_type() {
  std::complex<float> narrow(1, 2);
  std::complex<double> wide(1, 2);
  CHECK(tensor(narrow).dtype() == kComplexFloat && tensor(wide).dtype() == kComplexDouble);
  CHECK(tensor({narrow, narrow}).dtype() == kComplexFloat && tensor({narrow, wide}).dtype() == kComplexDouble);
  CHECK(tensor({narrow, std::complex<float>(3)}).dtype() == kComplexFloat &&
        tensor(Scalar(wide)).dtype() == kComplexDouble);
  CHECK(tensor(Half(1)).dtype() == kHalf && tensor({BFloat16(1), BFloat16(2)}).dtype() == kBFloat16);
  CHECK(tensor({Half(1), Half(2)}, kFloat).equal(tensor({1., 2.})) && tensor({Half(1), 2.}).dtype() == kFloat);
  CHECK(throws([&] { tensor(narrow, kFloat); }, "value cannot be converted to type float32 without overflow"));
  CHECK(throws([&] { tensor(std::vector{wide}, kDouble); }, "complex can not be casted to real number"));
  CHECK(tensor({wide}, kComplexFloat).dtype() == kComplexFloat && tensor(std::vector{wide}).dtype() == kComplexDouble);
}

static void test_devices_layouts_and_formats_are_printed() {
  std::ostringstream out;
  out << kCPU << ' ' << Device("cuda:1") << ' ' << kStrided << ' ' << kSparseCsr << ' ' << MemoryFormat::ChannelsLast;
  CHECK(out.str() == "cpu cuda:1 Strided SparseCsr ChannelsLast");
}

static void test_an_alias_is_a_view_of_the_whole_tensor() {
  Tensor x = ones({2}, requires_grad()), y = x.alias();
  CHECK(y.is_view() && y.data_ptr() == x.data_ptr() && y.grad_fn() && alias(x).is_view());
}

// An input (N, 1) and a target (N) are paired, as in torch, and not broadcast to (N, N).
static void test_binary_cross_entropy_pairs_inputs_and_targets() {
  Tensor x = tensor({0.1, 0.7, 0.4}, dtype(kDouble).requires_grad(true)), y = tensor({0., 1., 1.}, kDouble);
  Tensor expected = binary_cross_entropy(x, y), found = binary_cross_entropy(x.unsqueeze(1), y);
  CHECK(allclose(found, expected));
  CHECK(allclose(autograd::grad({found}, {x})[0], autograd::grad({expected}, {x})[0]));
  CHECK((binary_cross_entropy(x.unsqueeze(1), y, {}, /*reduction=*/0).sizes() == IntArrayRef({3, 1})));
  CHECK((binary_cross_entropy(x, y.unsqueeze(1), {}, /*reduction=*/0).sizes() == IntArrayRef({3})));
  Tensor z = x.detach().unsqueeze(1).requires_grad_();
  auto loss = [&] { return binary_cross_entropy(z, y); };
  Tensor first = autograd::grad({loss()}, {z}, {}, nullopt, /*create_graph=*/true)[0];
  Tensor flat = autograd::grad({expected = binary_cross_entropy(x, y)}, {x}, {}, nullopt, true)[0];
  CHECK(allclose(autograd::grad({first.sum()}, {z})[0].squeeze(1), autograd::grad({flat.sum()}, {x})[0]));
}

static void test_anomaly_mode_ends_with_its_guard() {
  CHECK(!autograd::AnomalyMode::is_enabled() && autograd::AnomalyMode::should_check_nan());
  {
    autograd::DetectAnomalyGuard guard;
    CHECK(autograd::AnomalyMode::is_enabled());
    Tensor x = zeros({1}, requires_grad());
    CHECK(throws([&] { (x / x * 0).sum().backward(); }, "returned nan values"));
  }
  CHECK(!autograd::AnomalyMode::is_enabled());
}

static void test_an_integer_is_a_dimension_for_var_and_std() {
  Tensor x = arange(6, kDouble).reshape({2, 3});
  int64_t dim = 0;
  CHECK(x.var(0).numel() == 3 && x.std(dim).numel() == 3 && var(x, 0).equal(x.var(IntArrayRef({0}))));
  CHECK(std::get<0>(var_mean(x, 0)).numel() == 3 && std::get<0>(std_mean(x, dim)).numel() == 3);
  CHECK(x.var(false).dim() == 0 && x.std().dim() == 0 && undertow::std(x, 0, /*unbiased=*/true).numel() == 3);
}

static void test_an_undefined_tensor_raises_and_does_not_crash() {
  const char* text = "Expected a proper Tensor but got an undefined Tensor";
  Tensor x = ones({2}), none;
  CHECK(none.numel() == 0 && !none.requires_grad() && !none.defined());
  CHECK(throws([&] { none.add(1); }, text) && throws([&] { none + 1; }, text) && throws([&] { x* none; }, text));
  CHECK(throws([&] { 1 - none; }, text) && throws([&] { none += x; }, text) && throws([&] { x.copy_(none); }, text));
  CHECK(throws([&] { cat({x, none}); }, text) && throws([&] { matmul(x, none); }, text));
  CHECK(throws([&] { none.sizes(); }, text) && throws([&] { none.dtype(); }, text));
  CHECK(throws([&] { none.item<float>(); }, text) && throws([&] { none.data_ptr<float>(); }, text));
  CHECK(throws([&] { none.grad(); }, text) && throws([&] { none.options(); }, text) && throws([&] { none[0]; }, text));
  CHECK(throws([&] { none.backward(); }, "does not have a grad_fn"));
  CHECK(throws([&] { none.to(kDouble); }, text) && throws([&] { none.requires_grad_(); }, text));
}

int main() {
  test_an_integer_is_a_dimension_for_var_and_std();
  test_an_undefined_tensor_raises_and_does_not_crash();
  test_arange_takes_options_without_a_step();
  test_complex_and_half_numbers_keep_their_type();
  test_devices_layouts_and_formats_are_printed();
  test_an_alias_is_a_view_of_the_whole_tensor();
  test_binary_cross_entropy_pairs_inputs_and_targets();
  test_anomaly_mode_ends_with_its_guard();
  test_old_names_of_dtype_and_memory();
  test_creation_takes_options();
  test_tensor_from_numbers();
  test_from_blob_shares_memory();
  test_methods_and_functions();
  test_operators();
  test_backward_and_grad();
  test_printing_shows_the_history();
  test_hooks_can_be_removed();
  test_inference_mode();
  return report("test_tensor");
}
