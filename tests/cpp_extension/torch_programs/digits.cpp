// digits.cpp: a libtorch program that classifies small images with torch::data, a convolutional network, a schedule and
// a checkpoint. Class k is a bright bar in row k, with noise.
#include <torch/torch.h>

#include <cstddef>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

class Bars : public torch::data::datasets::Dataset<Bars> {
 public:
  explicit Bars(int64_t count)
      : targets_(torch::randint(0, 8, {count}, torch::kLong)), images_(0.3 * torch::randn({count, 1, 8, 8})) {
    for (const auto i : c10::irange(count)) images_[i][0][targets_[i].item<int64_t>()] += 1.0;
  }
  torch::data::Example<> get(size_t index) override {
    return {images_[static_cast<int64_t>(index)], targets_[static_cast<int64_t>(index)]};
  }
  torch::optional<size_t> size() const override { return images_.size(0); }

 private:
  torch::Tensor targets_, images_;
};

struct Net : torch::nn::Module {
  Net() : conv(torch::nn::Conv2dOptions(1, 6, /*kernel_size=*/3).padding(1)), fc1(6 * 4 * 4, 32), fc2(32, 8) {
    register_module("conv", conv);
    register_module("drop", drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(drop->forward(conv->forward(x)), 2));
    x = x.view({-1, 6 * 4 * 4});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.2, /*training=*/is_training());
    return torch::log_softmax(fc2->forward(x), /*dim=*/1);
  }
  torch::nn::Conv2d conv;
  torch::nn::Dropout2d drop{torch::nn::DropoutOptions(0.1)};
  torch::nn::Linear fc1, fc2;
};

template <typename DataLoader>
void train(Net& model, torch::Device device, DataLoader& data_loader, torch::optim::Optimizer& optimizer) {
  model.train();
  for (auto& batch : data_loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    AT_ASSERT(!std::isnan(loss.template item<float>()));
    loss.backward();
    optimizer.step();
  }
}

template <typename DataLoader>
double accuracy(Net& model, torch::Device device, DataLoader& data_loader) {
  torch::NoGradGuard no_grad;
  model.eval();
  double loss = 0;
  int64_t correct = 0, count = 0;
  for (const auto& batch : data_loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    auto output = model.forward(data);
    loss += torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum).template item<float>();
    correct += output.argmax(1).eq(targets).sum().template item<int64_t>();
    count += targets.size(0);
  }
  TORCH_CHECK(loss / static_cast<double>(count) < 1, "the loss is ", loss);
  return static_cast<double>(correct) / static_cast<double>(count);
}

int main(int, char** argv) {
  torch::manual_seed(1);
  torch::DeviceType device_type = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  torch::Device device(device_type);
  Net model;
  model.to(device);

  auto normalize = torch::data::transforms::Normalize<>(0.125, 0.5);
  auto train_dataset = Bars(512).map(normalize).map(torch::data::transforms::Stack<>());
  const size_t train_dataset_size = train_dataset.size().value();
  auto train_loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(train_dataset), torch::data::DataLoaderOptions().batch_size(32).workers(2));
  auto test_loader =
      torch::data::make_data_loader(Bars(100).map(normalize).map(torch::data::transforms::Stack<>()), 50);
  TORCH_CHECK_EQ(train_dataset_size, 512u);

  torch::optim::Adam optimizer(model.parameters(), torch::optim::AdamOptions(0.01).betas(std::make_tuple(0.9, 0.99)));
  torch::optim::StepLR scheduler(optimizer, /*step_size=*/2, /*gamma=*/0.5);
  for (size_t epoch = 1; epoch <= 4; ++epoch) {
    train(model, device, *train_loader, optimizer);
    scheduler.step();
  }
  double reached = accuracy(model, device, *test_loader);
  TORCH_CHECK(reached > 0.9, "only ", reached, " are right");

  // A checkpoint of a copy of the model, by archive.
  std::string path = std::string(argv[0]) + ".pt";
  torch::serialize::OutputArchive out;
  model.save(out);
  out.save_to(path);
  auto copy = std::make_shared<Net>();
  torch::serialize::InputArchive in;
  in.load_from(path);
  copy->load(in);
  TORCH_CHECK_EQ(accuracy(*copy, device, *test_loader), reached);
  std::remove(path.c_str());
  std::cout << "digits: ok" << std::endl;
}
