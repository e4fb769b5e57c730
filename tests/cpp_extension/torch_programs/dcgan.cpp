// dcgan.cpp: a libtorch program that trains two convolutional networks against each other, with checkpoints in files.
#include <torch/torch.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

namespace nn = torch::nn;
constexpr int64_t kNoiseSize = 8, kBatchSize = 8;

struct GeneratorImpl : nn::Module {
  explicit GeneratorImpl(int noise_size)
      : conv1(nn::ConvTranspose2dOptions(noise_size, 16, 3).bias(false)),
        batch_norm1(16),
        conv2(nn::ConvTranspose2dOptions(16, 8, 3).stride(2).padding(1).bias(false)),
        batch_norm2(8),
        conv3(nn::ConvTranspose2dOptions(8, 1, 4).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv3", conv3);
    register_module("batch_norm1", batch_norm1);
    register_module("batch_norm2", batch_norm2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(batch_norm1(conv1(x)));
    x = torch::relu(batch_norm2(conv2(x)));
    return torch::tanh(conv3(x));
  }
  nn::ConvTranspose2d conv1;
  nn::BatchNorm2d batch_norm1;
  nn::ConvTranspose2d conv2;
  nn::BatchNorm2d batch_norm2;
  nn::ConvTranspose2d conv3;
};
TORCH_MODULE(Generator);

int main(int, char** argv) {
  torch::manual_seed(2);
  torch::Device device(torch::kCPU);
  if (torch::cuda::is_available()) device = torch::Device(torch::kCUDA);

  Generator generator(kNoiseSize);
  generator->to(device);
  nn::Sequential discriminator(nn::Conv2d(nn::Conv2dOptions(1, 8, 4).stride(2).padding(1).bias(false)),
                               nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)),
                               nn::Conv2d(nn::Conv2dOptions(8, 16, 3).stride(2).padding(1).bias(false)),
                               nn::BatchNorm2d(16), nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)),
                               nn::Conv2d(nn::Conv2dOptions(16, 1, 3).stride(1).padding(0).bias(false)), nn::Sigmoid());
  discriminator->to(device);

  // Real images: a bright square in the middle of 10 x 10 points.
  auto images = torch::full({64, 1, 10, 10}, -1.0);
  images.index_put_({torch::indexing::Slice(), 0, torch::indexing::Slice(3, 7), torch::indexing::Slice(3, 7)}, 1);
  auto dataset = torch::data::datasets::TensorDataset(images + 0.05 * torch::randn_like(images))
                     .map(torch::data::transforms::Stack<torch::data::TensorExample>());
  auto data_loader = torch::data::make_data_loader(std::move(dataset),
                                                   torch::data::DataLoaderOptions().batch_size(kBatchSize).workers(2));

  torch::optim::Adam generator_optimizer(generator->parameters(),
                                         torch::optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.5)));
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(),
                                             torch::optim::AdamOptions(5e-4).betas(std::make_tuple(0.5, 0.5)));
  double first = 0, last = 0;
  for (int64_t epoch = 1; epoch <= 12; ++epoch) {
    for (torch::data::TensorExample& batch : *data_loader) {
      discriminator->zero_grad();
      torch::Tensor real_images = batch.data.to(device);
      torch::Tensor real_labels = torch::empty(batch.data.size(0), device).uniform_(0.8, 1.0);
      torch::Tensor real_output = discriminator->forward(real_images).reshape(real_labels.sizes());
      torch::Tensor d_loss_real = torch::binary_cross_entropy(real_output, real_labels);
      d_loss_real.backward();

      torch::Tensor noise = torch::randn({batch.data.size(0), kNoiseSize, 1, 1}, device);
      torch::Tensor fake_images = generator->forward(noise);
      TORCH_CHECK(fake_images.sizes() == real_images.sizes(), fake_images.sizes());
      torch::Tensor fake_labels = torch::zeros(batch.data.size(0), device);
      torch::Tensor fake_output = discriminator->forward(fake_images.detach()).reshape(fake_labels.sizes());
      torch::Tensor d_loss_fake = torch::binary_cross_entropy(fake_output, fake_labels);
      d_loss_fake.backward();
      discriminator_optimizer.step();

      generator->zero_grad();
      fake_labels.fill_(1);
      fake_output = discriminator->forward(fake_images).reshape(fake_labels.sizes());
      torch::Tensor g_loss = torch::binary_cross_entropy(fake_output, fake_labels);
      g_loss.backward();
      generator_optimizer.step();
      last = (fake_images.detach() - real_images).abs().mean().item<double>();
      if (first == 0) first = last;
    }
  }
  TORCH_CHECK(last < 0.85 * first, "the images do not come closer: ", first, " to ", last);

  std::string model = std::string(argv[0]) + "-generator.pt", state = std::string(argv[0]) + "-optimizer.pt";
  torch::save(generator, model);
  torch::save(generator_optimizer, state);
  Generator restored(kNoiseSize);
  torch::load(restored, model);
  torch::optim::Adam restored_optimizer(restored->parameters(), torch::optim::AdamOptions(1));
  torch::load(restored_optimizer, state);
  restored->eval();
  generator->eval();
  auto noise = torch::randn({2, kNoiseSize, 1, 1});
  TORCH_CHECK(torch::equal(restored->forward(noise), generator->forward(noise)));
  std::stringstream stream;
  torch::save(generator, stream);
  Generator copy(kNoiseSize);
  torch::load(copy, stream);
  copy->eval();
  TORCH_CHECK(torch::equal(copy->forward(noise), generator->forward(noise)));
  std::remove(model.c_str());
  std::remove(state.c_str());
  std::cout << "dcgan: ok" << std::endl;
}
