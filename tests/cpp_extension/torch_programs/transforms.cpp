// transforms.cpp: a libtorch program that calls torch::fft, stft, images, ctc_loss and packed accessors by torch's
// names.
#include <torch/torch.h>

#include <iostream>

namespace F = torch::nn::functional;

template <typename scalar_t>
void add_one(torch::PackedTensorAccessor64<scalar_t, 2, torch::RestrictPtrTraits> a) {
  for (int64_t i = 0; i < a.size(0); i++)
    for (int64_t j = 0; j < a.size(1); j++) a[i][j] += 1;
}

// Upsamples, samples with a predicted affine map, as a spatial transformer does.
struct TransformerImpl : torch::nn::Module {
  TransformerImpl() {
    up = register_module(
        "up", torch::nn::Upsample(
                  torch::nn::UpsampleOptions().scale_factor(std::vector<double>({2, 2})).mode(torch::kBilinear)));
    map = register_module("map", torch::nn::Linear(16, 6));
  }
  torch::Tensor forward(torch::Tensor x) {
    auto theta = map(x.flatten(1)).view({-1, 2, 3});
    auto large = up(x);
    auto grid = F::affine_grid(theta, large.sizes());
    return F::grid_sample(
        large, grid,
        F::GridSampleFuncOptions().mode(torch::kBilinear).padding_mode(torch::kBorder).align_corners(false));
  }
  torch::nn::Upsample up{nullptr};
  torch::nn::Linear map{nullptr};
};
TORCH_MODULE(Transformer);

int main() {
  torch::manual_seed(0);
  auto signal = torch::randn({2, 400}, torch::kFloat64);
  auto spectrum = torch::fft::rfft(signal, c10::nullopt, -1, "ortho");
  TORCH_CHECK(torch::allclose(torch::fft::irfft(spectrum, 400, -1, "ortho"), signal));
  auto energy = torch::fft::fftn(signal, {2, 400}, {0, 1}, "ortho").abs().square().sum();
  TORCH_CHECK(torch::allclose(energy, signal.square().sum()));
  auto window = torch::hann_window(64, torch::TensorOptions().dtype(torch::kFloat64));
  auto columns = torch::stft(signal, 64, 16, 64, window, /*center=*/true, "reflect", /*normalized=*/false,
                             /*onesided=*/true, /*return_complex=*/true);
  TORCH_CHECK(torch::allclose(torch::istft(columns, 64, 16, 64, window, true, false, true, 400), signal));

  auto numbers = torch::zeros({3, 4});
  AT_DISPATCH_FLOATING_TYPES(numbers.scalar_type(), "add_one", [&] {
    add_one<scalar_t>(numbers.packed_accessor64<scalar_t, 2, torch::RestrictPtrTraits>());
  });
  TORCH_CHECK(numbers.sum().item<float>() == 12);
  TORCH_CHECK(torch::linalg::vector_norm(numbers, 2, {-1}, true).equal(torch::full({3, 1}, 2.0)));
  TORCH_CHECK(torch::linalg::norm(numbers, 2, {0, 1}).item<float>() > 3.4);
  TORCH_CHECK(torch::upsample_nearest2d(numbers.view({1, 1, 3, 4}), {6, 8}).sum().item<float>() == 48);
  auto [rows, inverse, counts] = torch::unique_dim(numbers, 0, true, true, true);
  TORCH_CHECK(rows.size(0) == 1 && counts.item<int64_t>() == 3);

  // What older extensions ask tensors and devices for.
  const at::DeviceGuard guard(numbers.device());
  TORCH_CHECK(!numbers.type().is_cuda() && numbers.data<float>() == numbers.data_ptr<float>());
  TORCH_CHECK(torch::zeros({2}, rows.type()).scalar_type() == torch::kFloat);
  TORCH_CHECK(DeviceTypeName(at::kCUDA, /*lower_case=*/true) == "cuda" && c10::DeviceTypeName(at::kCPU) == "CPU");
  bool has_functions[int(at::DeviceType::COMPILE_TIME_MAX_DEVICE_TYPES)] = {true};
  TORCH_CHECK(has_functions[int(numbers.device().type())]);

  Transformer net;
  torch::optim::Adam optimizer(net->parameters(), torch::optim::AdamOptions(0.05));
  auto images = torch::rand({8, 1, 4, 4}), targets = torch::rand({8, 1, 8, 8});
  float first = 0, last = 0;
  for (int step = 0; step < 30; ++step) {
    optimizer.zero_grad();
    auto loss = F::mse_loss(net(images), targets);
    loss.backward();
    optimizer.step();
    (step ? last : first) = loss.item<float>();
  }
  TORCH_CHECK(last < first, "the loss was ", first, " and is ", last);

  auto log_probs = torch::randn({20, 2, 5}).log_softmax(2).detach().requires_grad_();
  auto labels = torch::randint(1, 5, {2, 6}, torch::kLong);
  auto lengths = torch::full({2}, 20, torch::kLong), sizes = torch::full({2}, 6, torch::kLong);
  auto loss = torch::ctc_loss(log_probs, labels, lengths, sizes, 0, at::Reduction::Mean, false);
  TORCH_CHECK(torch::allclose(
      loss, torch::nn::CTCLoss(torch::nn::CTCLossOptions().blank(0))(log_probs, labels, lengths, sizes)));
  loss.backward();
  TORCH_CHECK(log_probs.grad().defined());
  std::cout << "transforms: ok" << std::endl;
}
