// training.cpp: a libtorch program that trains a small network with torch::nn and torch::optim.
#include <torch/torch.h>

struct NetImpl : torch::nn::Module {
  NetImpl(int64_t in, int64_t hidden)
      : fc1(register_module("fc1", torch::nn::Linear(in, hidden))),
        fc2(register_module("fc2", torch::nn::Linear(torch::nn::LinearOptions(hidden, 2).bias(true)))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.1, /*train=*/is_training());
    return torch::log_softmax(fc2(x), /*dim=*/1);
  }
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(Net);

int main() {
  torch::manual_seed(3);
  Net net(2, 16);
  TORCH_CHECK_EQ(net->parameters().size(), 4u);
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  auto x = torch::randn({200, 2});
  auto target = (x.select(1, 0) * x.select(1, 1) > 0).to(torch::kLong);
  for (int epoch = 0; epoch < 150; ++epoch) {
    net->train();
    optimizer.zero_grad();
    auto loss = torch::nll_loss(net->forward(x), target);
    loss.backward();
    optimizer.step();
  }
  net->eval();
  torch::NoGradGuard no_grad;
  const auto right = net->forward(x).argmax(1).eq(target).sum().item<int64_t>();
  TORCH_CHECK(right > 180, "only ", right, " of 200 are right");
  torch::nn::Sequential model(torch::nn::Linear(3, 4), torch::nn::ReLU(), torch::nn::Linear(4, 1));
  TORCH_CHECK(model->forward(torch::ones({5, 3})).sizes() == torch::IntArrayRef({5, 1}));
  std::cout << "training: ok" << std::endl;
}
