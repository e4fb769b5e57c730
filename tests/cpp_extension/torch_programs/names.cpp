// names.cpp: names of libtorch outside its modules: headers by their paths, warnings, dtypes, at::tensor, autograd.
#include <torch/expanding_array.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/options/conv.h>
#include <torch/optim/adam.h>
#include <torch/torch.h>

struct Collector : c10::WarningHandler {
  Collector() : before(c10::WarningUtils::get_warning_handler()) { c10::WarningUtils::set_warning_handler(this); }
  ~Collector() override { c10::WarningUtils::set_warning_handler(before); }
  void process(const c10::Warning& warning) override { messages.push_back(warning.msg()); }
  c10::WarningHandler* before;
  std::vector<std::string> messages;
};

struct WithDefaultsImpl : torch::nn::Module {
  double forward(int a, int b = 2, double c = 3.0) { return a + b + c; }

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(2)}, {2, torch::nn::AnyValue(3.0)})
};

using namespace torch::autograd;

int main() {
  {
    Collector collector;
    TORCH_WARN("number ", 1);
    Variable y = torch::ones({1}, torch::requires_grad()) * 2;
    TORCH_CHECK(!y.grad().defined());
    TORCH_CHECK_EQ(collector.messages.size(), 2u);
    TORCH_CHECK(collector.messages[0] == "number 1" &&
                collector.messages[1].find("is not a leaf") != std::string::npos);
    TORCH_CHECK(c10::Join(", ", collector.messages).find("number 1, The .grad") == 0);
  }
  try {
    TORCH_CHECK(false, "a message");
  } catch (const c10::Error& e) {
    TORCH_CHECK(std::string(e.what_without_backtrace()) == "a message");
  }
  // at::tensor keeps the type of the numbers and their dimension; torch::tensor does not.
  TORCH_CHECK(at::tensor({1, 2}).dtype() == at::kInt && torch::tensor({1, 2}).dtype() == at::kLong);
  TORCH_CHECK(at::tensor(1.5).dtype() == at::kDouble && at::tensor(1.5).dim() == 1 && torch::tensor(1.5).dim() == 0);
  TORCH_CHECK(at::tensor(std::vector<double>{1}).dtype() == at::kDouble &&
              at::tensor({1.5}, at::kFloat).dtype() == at::kFloat);
  TORCH_CHECK(torch::arange(0, 3, torch::kLong).numel() == 3);
  caffe2::TypeMeta type = torch::scalarTypeToTypeMeta(torch::kHalf);
  TORCH_CHECK(torch::typeMetaToScalarType(type) == torch::kHalf && c10::Device::Type(torch::kCPU) == torch::kCPU);
  TORCH_CHECK(std::isnan(static_cast<float>(std::numeric_limits<at::Half>::signaling_NaN())));
  TORCH_CHECK(torch::enumtype::get_enum_name(torch::nn::L1LossOptions::reduction_t(torch::kSum)) == "kSum");
  TORCH_CHECK(torch::indexing::Slice().stop() == torch::indexing::INDEX_MAX);

  auto data = make_variable(torch::ones({2}), /*requires_grad=*/true);
  TORCH_CHECK(data.is_leaf() && data.requires_grad());
  AutoGradMode off(false);
  TORCH_CHECK(!GradMode::is_enabled());
  at::Tensor table = torch::zeros({3});
  at::index_put_(table, {torch::tensor({1})}, torch::ones({1}));
  TORCH_CHECK(table.sum().item<float>() == 1);

  TORCH_CHECK(at::toOpMathType(at::kHalf) == at::kFloat && at::detail::getDefaultCPUGenerator().defined());
  // Functions of at:: that are functions of other namespaces here.
  at::Tensor image = torch::arange(16, torch::kFloat).view({1, 4, 4});
  TORCH_CHECK(at::pad(image, {1, 1}, "reflect")[0][0][0].item<float>() == 1 && at::pad(image, {1, 0}).sizes()[2] == 5);
  TORCH_CHECK(at::fft_rfft(image).equal(torch::fft::rfft(image)) &&
              at::fft_ifft2(image).equal(torch::fft::ifft2(image)));
  TORCH_CHECK(at::fft_fftn(image, {2, 2}, {1, 2}).equal(torch::fft::fftn(image, {2, 2}, {1, 2})));
  TORCH_CHECK(at::promote_types(at::kInt, at::kHalf) == at::kHalf && at::result_type(image, 1.5) == at::kFloat);
  TORCH_CHECK(at::can_cast(at::kInt, at::kFloat) && !at::can_cast(at::kFloat, at::kInt) &&
              at::is_same_size(image, image));
  TORCH_CHECK(at::margin_ranking_loss(image, image, image, 0.5, at::Reduction::Sum).item<float>() == 8);
  TORCH_CHECK(std::get<1>(at::adaptive_max_pool1d(image, 2))[0][3][1].item<int64_t>() == 3);
  auto flat = torch::utils::flatten_dense_tensors({image, table});
  TORCH_CHECK(torch::utils::unflatten_dense_tensors(flat, {image, table})[1].equal(table) && flat.numel() == 19);
  TORCH_CHECK(at::channel_shuffle(torch::arange(4).view({1, 4, 1}), 2).flatten().equal(torch::tensor({0, 2, 1, 3})));

  std::string bytes;
  torch::save(table, [&](const void* data, size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  at::Tensor again;
  torch::load(again, bytes.data(), bytes.size());
  TORCH_CHECK(again.equal(table));

  torch::nn::AnyModule any(std::make_shared<WithDefaultsImpl>());
  TORCH_CHECK(any.forward<double>(1) == 6.0 && any.forward<double>(1, 3) == 7.0);
  std::cout << "names: ok" << std::endl;
}
