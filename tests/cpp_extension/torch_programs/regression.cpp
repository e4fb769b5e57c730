// regression.cpp: a libtorch program that fits a line and a polynomial by hand-written gradient descent.
#include <torch/torch.h>

#include <iostream>
#include <sstream>

int main() {
  torch::manual_seed(1);
  torch::Device device(torch::cuda::is_available() ? torch::kCUDA : torch::kCPU);
  auto options = torch::TensorOptions().dtype(torch::kFloat64).device(device);

  auto x = torch::linspace(-1, 1, 50, options).unsqueeze(1);
  auto target = 3 * x - 2 + 0.01 * torch::randn({50, 1}, options);
  auto weight = torch::zeros({1, 1}, options.requires_grad(true));
  auto bias = torch::zeros({1}, options).requires_grad_();
  double first = 0, last = 0;
  for (int epoch = 0; epoch < 200; ++epoch) {
    auto loss = torch::mse_loss(torch::addmm(bias, x, weight), target);
    loss.backward();
    torch::NoGradGuard no_grad;
    for (auto* parameter : {&weight, &bias}) {
      *parameter -= 0.5 * parameter->grad();
      parameter->mutable_grad().zero_();
    }
    if (epoch == 0) first = loss.item<double>();
    last = loss.item<double>();
  }
  TORCH_CHECK(last < 1e-3 && first > 1, "the loss went from ", first, " to ", last);
  TORCH_CHECK(std::abs(weight.item<double>() - 3) < 0.05 && std::abs(bias.item<double>() + 2) < 0.05);

  // Elements through an accessor, a pointer, slices and parallel_for.
  auto table = torch::arange(12, torch::kLong).view({3, 4});
  auto elements = table.accessor<int64_t, 2>();
  int64_t trace = 0;
  for (int64_t i = 0; i < elements.size(0); i++) trace += elements[i][i];
  TORCH_CHECK_EQ(trace, 15);
  using namespace torch::indexing;
  TORCH_CHECK(torch::equal(table.index({Slice(1, None), 0}), torch::tensor({4, 8}, torch::kLong)));
  auto sums = torch::zeros({3}, torch::kLong);
  at::parallel_for(0, 3, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) sums.data_ptr<int64_t>()[i] = table[i].sum().item<int64_t>();
  });
  TORCH_CHECK(torch::equal(sums, table.sum(1)));
  std::vector<float> numbers = {1, 2, 3};
  auto blob = torch::from_blob(numbers.data(), {3}, torch::kFloat);
  blob.mul_(2);
  TORCH_CHECK_EQ(numbers[2], 6.f);

  // Tensors through a stream.
  std::stringstream stream;
  torch::save(std::vector<torch::Tensor>{weight, table}, stream);
  std::vector<torch::Tensor> loaded;
  torch::load(loaded, stream);
  TORCH_CHECK(loaded.size() == 2 && torch::equal(loaded[0], weight) && torch::equal(loaded[1], table));
  TORCH_CHECK(loaded[0].defined(), "a semicolon after it is not needed")
  auto grid = torch::meshgrid({torch::arange(2), torch::arange(3)}, "xy");
  TORCH_CHECK(torch::equal(grid[0][1], torch::arange(2)) && grid[1].sizes() == torch::IntArrayRef({3, 2}));
  std::cout << "regression: ok" << std::endl;
}
