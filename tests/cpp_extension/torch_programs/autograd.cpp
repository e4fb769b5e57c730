// autograd.cpp: a libtorch program about derivatives: basic operations, higher derivatives, a Function, hooks, no_grad.
#include <torch/torch.h>

using namespace torch::autograd;

class LinearFunction : public Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor input, torch::Tensor weight,
                               torch::Tensor bias = torch::Tensor()) {
    ctx->save_for_backward({input, weight, bias});
    auto output = input.mm(weight.t());
    if (bias.defined()) output += bias.unsqueeze(0).expand_as(output);
    return output;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto input = saved[0], weight = saved[1], bias = saved[2];
    auto grad_output = grad_outputs[0];
    auto grad_input = grad_output.mm(weight);
    auto grad_weight = grad_output.t().mm(input);
    auto grad_bias = torch::Tensor();
    if (bias.defined()) grad_bias = grad_output.sum(0);
    return {grad_input, grad_weight, grad_bias};
  }
};

class MulConstant : public Function<MulConstant> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor tensor, double constant) {
    ctx->saved_data["constant"] = constant;
    return tensor * constant;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    return {grad_outputs[0] * ctx->saved_data["constant"].toDouble(), torch::Tensor()};
  }
};

int main() {
  torch::manual_seed(0);
  auto x = torch::ones({2, 2}, torch::requires_grad());
  auto y = x + 2;
  auto z = y * y * 3;
  auto out = z.mean();
  TORCH_CHECK(y.grad_fn() != nullptr && x.is_leaf());
  out.backward();
  TORCH_CHECK(torch::allclose(x.grad(), torch::full({2, 2}, 4.5)), "x.grad is ", x.grad());

  {
    torch::NoGradGuard no_grad;
    TORCH_CHECK(!x.pow(2).requires_grad());
  }
  TORCH_CHECK(x.pow(2).requires_grad());

  auto model_weight = torch::randn({4, 3}, torch::requires_grad());
  auto input = torch::randn({3, 4}).requires_grad_(true);
  auto output = input.mm(model_weight).sum(1).pow(2);
  auto loss = torch::mse_loss(output, torch::randn({3}));
  auto grad_output = torch::ones_like(loss);
  auto gradient =
      torch::autograd::grad({loss}, {input}, {grad_output}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  auto gradient_penalty = torch::pow(gradient.norm(2, /*dim=*/1) - 1, 2).mean();
  (loss + gradient_penalty).backward();
  TORCH_CHECK(input.grad().defined() && model_weight.grad().defined());

  auto a = torch::randn({2, 3}).requires_grad_(), w = torch::randn({4, 3}).requires_grad_();
  auto b = torch::randn({4}).requires_grad_();
  LinearFunction::apply(a, w, b).sum().backward();
  TORCH_CHECK(torch::allclose(b.grad(), torch::full({4}, 2.0)));
  TORCH_CHECK(torch::allclose(a.grad(), w.detach().sum(0).expand({2, 3})));

  auto c = torch::randn({2}).requires_grad_();
  int calls = 0;
  c.register_hook([&](torch::Tensor grad) {
    calls++;
    return grad * 2;
  });
  MulConstant::apply(c, 5.5).sum().backward();
  TORCH_CHECK_EQ(calls, 1);
  TORCH_CHECK(torch::allclose(c.grad(), torch::full({2}, 11.0)));
  try {
    torch::ones({2, 3}).mm(torch::ones({2, 3}));
    TORCH_CHECK(false, "no error");
  } catch (const c10::Error& e) {
    TORCH_CHECK(std::string(e.what()).find("shapes cannot be multiplied") != std::string::npos, e.what());
  }
  std::cout << "autograd: ok" << std::endl;
}
