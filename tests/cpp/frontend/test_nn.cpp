// test_nn.cpp: modules: registration, traversal, modes, conversion, copies, containers, printing and errors.
#include <cmath>
#include <sstream>

#include <undertow/nn.h>
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

namespace nn = undertow::nn;
namespace F = undertow::nn::functional;
using undertow::Tensor;

struct NetImpl : nn::Cloneable<NetImpl> {
  NetImpl(int64_t in, int64_t out) : in_(in), out_(out) { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(in_, 8));
    norm = register_module("norm", nn::BatchNorm1d(8));
    last = register_module("last", nn::Linear(nn::LinearOptions(8, out_).bias(false)));
    scale = register_parameter("scale", undertow::ones({out_}));
    count = register_buffer("count", undertow::zeros({1}));
  }
  Tensor forward(const Tensor& x) { return last(F::relu(norm(first(x)))) * scale; }
  int64_t in_, out_;
  nn::Linear first{nullptr}, last{nullptr};
  nn::BatchNorm1d norm{nullptr};
  Tensor scale, count;
};
UNDERTOW_MODULE(Net);

struct PlainImpl : nn::Module {
  PlainImpl() : linear(register_module("linear", nn::Linear(2, 3))) {}
  Tensor forward(Tensor x) { return linear(x); }
  nn::Linear linear;
};
UNDERTOW_MODULE(Plain);

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && (a == b).all().item<bool>(); }

void names_and_traversal() {
  Net net(4, 2);
  std::vector<std::string> expected = {"scale",       "first.weight", "first.bias",
                                       "norm.weight", "norm.bias",    "last.weight"};
  CHECK(net->named_parameters().keys() == expected);
  CHECK(net->named_parameters(/*recurse=*/false).keys() == std::vector<std::string>{"scale"});
  CHECK(net->parameters().size() == 6);
  CHECK((net->named_buffers().keys() ==
         std::vector<std::string>{"count", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}));
  CHECK((net->named_modules().keys() == std::vector<std::string>{"", "first", "norm", "last"}));
  CHECK((net->named_children().keys() == std::vector<std::string>{"first", "norm", "last"}));
  CHECK(net->state_dict().size() == 10);
  int linears = 0;
  net->apply([&](nn::Module& m) { linears += m.as<nn::Linear>() != nullptr; });
  CHECK(linears == 2);
  std::string all;
  net->apply([&](const std::string& name, nn::Module&) { all += name + ";"; });
  CHECK(all == ";first;norm;last;");
  int total = 0;
  for (auto& [name, p] : net->named_parameters()) total += static_cast<int>(p.numel());
  CHECK(total == 2 + 32 + 8 + 8 + 8 + 16);
}

void modes_and_conversion() {
  Net net(4, 2);
  CHECK(net->is_training() && net->norm->is_training());
  net->eval();
  CHECK(!net->is_training() && !net->norm->is_training());
  net->train();
  net->to(undertow::kDouble);
  CHECK(net->first->weight.dtype() == undertow::kDouble && net->first->weight.requires_grad());
  CHECK(net->norm->num_batches_tracked.dtype() == undertow::kLong);
  net->forward(undertow::ones({3, 4}, undertow::kDouble)).sum().backward();
  CHECK(net->first->weight.grad().defined() && net->norm->num_batches_tracked.item<int64_t>() == 1);
  net->zero_grad();
  CHECK(!net->first->weight.grad().defined());
}

void copies() {
  undertow::manual_seed(3);
  Net net(4, 2);
  Tensor drawn_if_not_copied;
  {
    undertow::manual_seed(5);
    drawn_if_not_copied = undertow::rand({4});
  }
  undertow::manual_seed(5);
  auto copy = std::dynamic_pointer_cast<NetImpl>(net->clone());
  CHECK(same(undertow::rand({4}), drawn_if_not_copied));  // copying draws no random numbers
  CHECK(copy && same(copy->first->weight, net->first->weight) && !copy->first->weight.is_same(net->first->weight));
  {
    undertow::NoGradGuard no_grad;
    copy->first->weight.add_(1);
  }
  CHECK(!same(copy->first->weight, net->first->weight));
  CHECK(copy->first->weight.is_same(copy->named_parameters()["first.weight"]));
  Net other(4, 2);
  other->load_state_dict(net->state_dict());
  CHECK(same(other->last->weight, net->last->weight));
  CHECK(throws([&] { Net(4, 3)->load_state_dict(net->state_dict()); }, "size mismatch for last.weight"));
  CHECK(throws([&] { Plain()->load_state_dict(net->state_dict()); }, "Missing key(s) in state_dict: \"linear"));
  CHECK(throws([] { Plain()->clone(); }, "clone() has not been implemented for PlainImpl"));
}

void tied_parameters_appear_once() {
  nn::Sequential model(nn::Linear(nn::LinearOptions(3, 3).bias(false)),
                       nn::Linear(nn::LinearOptions(3, 3).bias(false)));
  auto& second = model->at<nn::Linear>(1);
  second.weight = second.replace_parameter("weight", model->at<nn::Linear>(0).weight);
  CHECK(model->parameters().size() == 1);
  CHECK((model->state_dict().keys() == std::vector<std::string>{"0.weight", "1.weight"}));
  model->to(undertow::kDouble);
  CHECK(second.weight.dtype() == undertow::kDouble);
}

void sequential() {
  nn::Sequential model({{"a", nn::Linear(2, 4)}, {"act", nn::ReLU()}, {"b", Plain()}});
  CHECK(throws([&] { model(undertow::ones({1, 2})); }, "1x4 and 2x3"));
  nn::Sequential good(nn::Linear(3, 2), nn::Sequential(nn::Tanh(), nn::Dropout(0.5)), Plain(),
                      nn::Functional([](Tensor t) { return t * 2; }));
  good->eval();
  CHECK((good(undertow::ones({5, 3})).sizes() == undertow::IntArrayRef({5, 3})));
  CHECK(good->size() == 4 && good->ptr<nn::Linear>(0) != nullptr);
  CHECK(throws([&] { good->ptr<nn::ReLU>(0); }, "Attempted to cast module to undertow::nn::ReLUImpl"));
  CHECK(throws([&] { good->at<nn::ReLU>(0); }, "but its actual type is undertow::nn::LinearImpl"));
  CHECK(throws([&] { good->forward(1); }, "Expected argument #0 to be of type undertow::Tensor, but received"));
  CHECK(throws([] { nn::Sequential()->forward(undertow::ones({1})); }, "empty"));
  CHECK(throws([&] { nn::AnyModule(nn::ReLU()).forward(undertow::ones({1}), 2); },
               "forward() method expects 1 argument(s), but received 2. Default arguments may be left out"));
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(nn::Sequential(nn::Linear(3, 2), nn::ReLU())->clone());
  CHECK(copy->size() == 2);
  // A module with default arguments, and one that returns a tuple.
  nn::Sequential recurrent(nn::LSTM(3, 4));
  auto result = recurrent->forward<std::tuple<Tensor, std::tuple<Tensor, Tensor>>>(undertow::ones({6, 2, 3}));
  CHECK((std::get<0>(result).sizes() == undertow::IntArrayRef({6, 2, 4})));
  int seen = 0;
  for (auto& module : *good) seen += module.ptr() != nullptr;
  CHECK(seen == 4);
}

void containers() {
  nn::ModuleList list(nn::Linear(2, 2), nn::ReLU());
  list->push_back(nn::Linear(2, 3));
  list->insert(0, nn::Tanh());
  CHECK(list->size() == 4 && list[0]->as<nn::Tanh>() && list->at<nn::Linear>(3).options.out_features() == 3);
  CHECK((list->named_parameters().keys() == std::vector<std::string>{"1.weight", "1.bias", "3.weight", "3.bias"}));
  CHECK(throws([&] { list->replace_module("0", std::shared_ptr<nn::Module>()); }, "empty ModuleHolder"));
  nn::ModuleDict dict;
  dict->insert("left", nn::Linear(2, 2));
  dict->insert("right", nn::ReLU());
  CHECK(dict->contains("left") && dict->size() == 2 && dict->at<nn::Linear>("left").weight.defined());
  dict->pop("right");
  CHECK(!dict->contains("right"));
  nn::ParameterList parameters(undertow::ones({2}).requires_grad_(), undertow::ones({3}));
  CHECK(parameters->size() == 2 && parameters->parameters()[0].requires_grad());
  nn::ParameterDict by_name;
  by_name->insert("w", undertow::ones({2}).requires_grad_());
  CHECK(by_name->named_parameters().contains("w"));
}

void names_are_checked() {
  Plain net;
  CHECK(throws([&] { net->register_parameter("a.b", undertow::ones({1})); }, "must not contain a dot"));
  CHECK(throws([&] { net->register_module("linear", nn::Linear(1, 1)); }, "'linear' already defined"));
  nn::Linear empty(nullptr);
  CHECK(throws([&] { empty->weight.sum(); }, "Accessing empty ModuleHolder"));
  CHECK(throws([] { nn::Conv2d(nn::Conv2dOptions(3, 4, 3).groups(2)); }, "in_channels must be divisible"));
}

void printing() {
  std::stringstream text;
  text << nn::Sequential(nn::Linear(2, 3), nn::ReLU());
  CHECK(text.str() ==
        "undertow::nn::Sequential(\n"
        "  (0): undertow::nn::Linear(in_features=2, out_features=3, bias=true)\n"
        "  (1): undertow::nn::ReLU()\n)");
}

void layers_have_the_shapes_of_python() {
  Tensor image = undertow::ones({2, 4, 9, 9});
  auto shape = [](const Tensor& t) { return t.sizes().vec(); };
  using S = std::vector<int64_t>;
  CHECK((shape(nn::Conv2d(nn::Conv2dOptions(4, 6, 3).stride(2).padding(1))(image)) == S{2, 6, 5, 5}));
  CHECK((shape(nn::Conv2d(nn::Conv2dOptions(4, 6, 3).padding(undertow::kSame))(image)) == S{2, 6, 9, 9}));
  CHECK((shape(nn::Conv2d(nn::Conv2dOptions(4, 6, {3, 1}).padding({1, 0}).padding_mode(undertow::kCircular))(image)) ==
         S{2, 6, 9, 9}));
  nn::ConvTranspose2d up(nn::ConvTranspose2dOptions(4, 2, 3).stride(2).padding(1));
  CHECK((shape(up(image)) == S{2, 2, 17, 17}));
  CHECK((shape(up(image, std::vector<int64_t>{18, 18})) == S{2, 2, 18, 18}));
  CHECK((shape(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2))(image)) == S{2, 4, 4, 4}));
  CHECK((shape(nn::AvgPool2d(3)(image)) == S{2, 4, 3, 3}));
  CHECK((shape(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({2, std::nullopt}))(image)) == S{2, 4, 2, 9}));
  CHECK((shape(nn::Flatten()(image)) == S{2, 324}));
  CHECK((shape(nn::GroupNorm(2, 4)(image)) == S{2, 4, 9, 9}));
  CHECK((shape(nn::InstanceNorm2d(4)(image)) == S{2, 4, 9, 9}));
  CHECK((shape(nn::PixelShuffle(2)(image)) == S{2, 1, 18, 18}));
  CHECK((shape(nn::ZeroPad2d(1)(image)) == S{2, 4, 11, 11}));
  auto [out, state] = nn::GRU(nn::GRUOptions(3, 5).num_layers(2).bidirectional(true))(undertow::ones({7, 2, 3}));
  CHECK((shape(out) == S{7, 2, 10} && shape(state) == S{4, 2, 5}));
  nn::TransformerEncoder encoder(
      nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16)), 2);
  CHECK((shape(encoder(undertow::ones({5, 2, 8}))) == S{5, 2, 8}));
  CHECK(encoder->named_parameters().contains("layers.1.self_attn.out_proj.weight"));
}

void losses() {
  Tensor x = undertow::tensor({1.0, 3.0}), y = undertow::tensor({1.0, 1.0});
  CHECK(nn::MSELoss()(x, y).item<float>() == 2);
  CHECK(nn::MSELoss(nn::MSELossOptions(undertow::kSum))(x, y).item<float>() == 4);
  CHECK(nn::L1Loss(nn::L1LossOptions().reduction(undertow::kNone))(x, y).dim() == 1);
  Tensor logits = undertow::zeros({1, 2});
  CHECK(std::fabs(nn::CrossEntropyLoss()(logits, undertow::tensor({0})).item<float>() - std::log(2.0f)) < 1e-6);
}

void hardtanh_needs_a_range() {
  CHECK(throws([] { nn::Hardtanh(nn::HardtanhOptions().min_val(1).max_val(1)); }, "max_val must be greater than"));
  CHECK(nn::Hardtanh()->options.max_val() == 1);
}

int main() {
  hardtanh_needs_a_range();
  names_and_traversal();
  modes_and_conversion();
  copies();
  tied_parameters_appear_once();
  sequential();
  containers();
  names_are_checked();
  printing();
  layers_have_the_shapes_of_python();
  losses();
  return report("test_nn");
}
