// test_nn_state.cpp: the state of modules and optimizers in files. Without arguments: what is saved can be loaded
// again. `write FOLDER` and `read FOLDER` are run by tests/nn/test_cpp_modules.py, which compares every module,
// optimizer and schedule with its Python class.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include <undertow/archive.h>
#include <undertow/nn.h>
#include <undertow/optim.h>
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

namespace nn = undertow::nn;
namespace F = undertow::nn::functional;
namespace optim = undertow::optim;
using undertow::IValue;
using undertow::Tensor;

// From -2 to 2 in equal steps.
Tensor numbers(std::vector<int64_t> size) {
  int64_t n = 1;
  for (int64_t s : size) n *= s;
  return undertow::linspace(-2, 2, n).reshape(size);
}
Tensor codes() { return undertow::arange(12).reshape({3, 4}).remainder(7); }

struct Case {
  std::shared_ptr<nn::Module> module;
  std::function<Tensor()> run;
};
template <class Holder>
Case called(Holder module, std::vector<int64_t> size) {
  return {module.ptr(), [module, size]() mutable { return module(numbers(size)); }};
}
template <class Holder>
Case recurrent(Holder module, std::vector<int64_t> size) {
  return {module.ptr(), [module, size]() mutable { return std::get<0>(module(numbers(size))); }};
}

// The names and arguments are those in test_cpp_modules.py.
const std::map<std::string, std::function<Case()>>& cases() {
  static const std::map<std::string, std::function<Case()>> all = {
      {"linear", [] { return called(nn::Linear(5, 3), {4, 5}); }},
      {"bilinear",
       [] {
         nn::Bilinear m(3, 4, 2);
         return Case{m.ptr(), [m]() mutable { return m(numbers({5, 3}), numbers({5, 4})); }};
       }},
      {"conv1d", [] { return called(nn::Conv1d(nn::Conv1dOptions(4, 6, 3).padding(1).groups(2)), {2, 4, 9}); }},
      {"conv2d", [] { return called(nn::Conv2d(nn::Conv2dOptions(3, 4, {3, 2}).stride(2)), {2, 3, 8, 7}); }},
      {"conv2d_same",
       [] { return called(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(undertow::kSame)), {2, 3, 6, 6}); }},
      {"conv2d_reflect",
       [] {
         auto o = nn::Conv2dOptions(3, 4, 3).padding({1, 2}).padding_mode(undertow::kReflect);
         return called(nn::Conv2d(o), {2, 3, 6, 6});
       }},
      {"conv3d", [] { return called(nn::Conv3d(nn::Conv3dOptions(2, 3, 2).bias(false)), {1, 2, 4, 4, 4}); }},
      {"conv_transpose2d",
       [] {
         auto o = nn::ConvTranspose2dOptions(3, 4, 3).stride(2).padding(1).output_padding(1);
         return called(nn::ConvTranspose2d(o), {2, 3, 5, 5});
       }},
      {"batch_norm1d", [] { return called(nn::BatchNorm1d(4), {6, 4}); }},
      {"batch_norm2d",
       [] { return called(nn::BatchNorm2d(nn::BatchNorm2dOptions(3).momentum(std::nullopt)), {2, 3, 4, 4}); }},
      {"instance_norm",
       [] { return called(nn::InstanceNorm2d(nn::InstanceNorm2dOptions(3).affine(true)), {2, 3, 4, 4}); }},
      {"layer_norm", [] { return called(nn::LayerNorm(nn::LayerNormOptions({3, 4})), {2, 3, 4}); }},
      {"rms_norm", [] { return called(nn::RMSNorm(nn::RMSNormOptions({4})), {2, 3, 4}); }},
      {"group_norm", [] { return called(nn::GroupNorm(2, 4), {2, 4, 5}); }},
      {"local_response_norm", [] { return called(nn::LocalResponseNorm(3), {2, 4, 5}); }},
      {"embedding",
       [] {
         nn::Embedding m(nn::EmbeddingOptions(7, 3).padding_idx(-2));
         return Case{m.ptr(), [m]() mutable { return m(codes()); }};
       }},
      {"prelu", [] { return called(nn::PReLU(nn::PReLUOptions().num_parameters(4)), {2, 4}); }},
      {"mlp",
       [] {
         nn::Linear a(4, 6), b(6, 6);
         nn::Linear c(6, 2);
         return called(nn::Sequential(a, nn::GELU(), nn::Dropout(0.4), b, nn::SiLU(), nn::AlphaDropout(0.3), c),
                       {5, 4});
       }},
      {"cnn",
       [] {
         nn::Conv2d a(3, 4, 3);
         nn::BatchNorm2d b(4);
         nn::Linear c(16, 2);
         return called(nn::Sequential(a, b, nn::ReLU(), nn::MaxPool2d(2), nn::Dropout2d(0.3), nn::AdaptiveAvgPool2d(2),
                                      nn::Flatten(), c),
                       {2, 3, 12, 12});
       }},
      {"rnn",
       [] {
         auto o = nn::RNNOptions(3, 4).nonlinearity(undertow::kReLU).num_layers(2).dropout(0.3);
         return recurrent(nn::RNN(o), {5, 2, 3});
       }},
      {"lstm",
       [] {
         auto o = nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).batch_first(true).dropout(0.2);
         return recurrent(nn::LSTM(o), {2, 5, 3});
       }},
      {"lstm_projected", [] { return recurrent(nn::LSTM(nn::LSTMOptions(3, 4).proj_size(2)), {5, 2, 3}); }},
      {"gru", [] { return recurrent(nn::GRU(nn::GRUOptions(3, 4).bidirectional(true)), {5, 2, 3}); }},
      {"gru_cell", [] { return called(nn::GRUCell(3, 4), {2, 3}); }},
      {"attention",
       [] {
         nn::MultiheadAttention m(
             nn::MultiheadAttentionOptions(8, 2).dropout(0.2).add_bias_kv(true).add_zero_attn(true));
         return Case{m.ptr(), [m]() mutable {
                       Tensor x = numbers({5, 2, 8});
                       return std::get<0>(m(x, x, x));
                     }};
       }},
      {"attention_separate",
       [] {
         nn::MultiheadAttention m(nn::MultiheadAttentionOptions(8, 2).kdim(6).vdim(4).batch_first(true));
         return Case{
             m.ptr(), [m]() mutable {
               return std::get<0>(m(numbers({2, 5, 8}), numbers({2, 3, 6}), numbers({2, 3, 4}), Tensor(), false));
             }};
       }},
      {"encoder_layer",
       [] {
         auto o =
             nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).activation(undertow::kGELU).norm_first(true);
         return called(nn::TransformerEncoderLayer(o), {5, 2, 8});
       }},
      {"encoder",
       [] {
         nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16));
         nn::TransformerEncoder m(
             nn::TransformerEncoderOptions(layer, 2).norm(nn::AnyModule(nn::LayerNorm(nn::LayerNormOptions({8})))));
         return Case{m.ptr(), [m]() mutable {
                       return m(numbers({5, 2, 8}), nn::TransformerImpl::generate_square_subsequent_mask(5));
                     }};
       }},
      {"transformer",
       [] {
         nn::Transformer m(nn::TransformerOptions(8, 2, 1, 2).dim_feedforward(16));
         return Case{m.ptr(), [m]() mutable { return m(numbers({5, 2, 8}), numbers({4, 2, 8})); }};
       }},
  };
  return all;
}

const char* kOptimizers[] = {"sgd", "sgd_momentum", "adam", "adamw", "rmsprop", "adagrad", "lbfgs", "lbfgs_wolfe"};

std::unique_ptr<optim::Optimizer> optimizer_named(const std::string& name, const std::vector<Tensor>& p) {
  std::vector<optim::OptimizerParamGroup> one{optim::OptimizerParamGroup(p)};
  if (name == "sgd") return std::make_unique<optim::SGD>(one, optim::SGDOptions(0.1).weight_decay(0.01));
  if (name == "sgd_momentum")
    return std::make_unique<optim::SGD>(one, optim::SGDOptions(0.1).momentum(0.9).nesterov(true).maximize(true));
  if (name == "adam")
    return std::make_unique<optim::Adam>(one, optim::AdamOptions(0.1).amsgrad(true).weight_decay(0.1));
  if (name == "adamw") return std::make_unique<optim::AdamW>(one, optim::AdamWOptions(0.1).betas({0.8, 0.95}));
  if (name == "rmsprop")
    return std::make_unique<optim::RMSprop>(one, optim::RMSpropOptions(0.05).centered(true).momentum(0.5));
  if (name == "adagrad")
    return std::make_unique<optim::Adagrad>(one,
                                            optim::AdagradOptions(0.1).lr_decay(0.1).initial_accumulator_value(0.2));
  if (name == "lbfgs") return std::make_unique<optim::LBFGS>(one, optim::LBFGSOptions(0.3).max_iter(4).history_size(3));
  return std::make_unique<optim::LBFGS>(one, optim::LBFGSOptions().max_iter(3).line_search_fn("strong_wolfe"));
}

void take_steps(optim::Optimizer& optimizer, const std::vector<Tensor>& p, int count) {
  for (int k = 0; k < count; k++)
    optimizer.step([&] {
      optimizer.zero_grad();
      Tensor loss = (p[0] - 1).pow(4).sum() + (p[1] * p[1]).sum().sin();
      loss.backward();
      return loss;
    });
}
std::vector<Tensor> two_parameters() { return {numbers({5}).requires_grad_(), numbers({2, 3}).requires_grad_()}; }

std::shared_ptr<optim::LRScheduler> schedule_named(const std::string& name, optim::Optimizer& o) {
  if (name == "step") return std::make_shared<optim::StepLR>(o, 3, 0.5);
  if (name == "multi_step") return std::make_shared<optim::MultiStepLR>(o, std::vector<int64_t>{2, 5, 5}, 0.3);
  if (name == "constant") return std::make_shared<optim::ConstantLR>(o, 0.25, 4);
  if (name == "linear") return std::make_shared<optim::LinearLR>(o, 0.25, 0.75, 6);
  if (name == "exponential") return std::make_shared<optim::ExponentialLR>(o, 0.9);
  if (name == "polynomial") return std::make_shared<optim::PolynomialLR>(o, 7, 2.0);
  if (name == "cosine") return std::make_shared<optim::CosineAnnealingLR>(o, 5, 0.01);
  if (name == "restarts") return std::make_shared<optim::CosineAnnealingWarmRestarts>(o, 3, 2, 0.01);
  if (name == "one_cycle") return std::make_shared<optim::OneCycleLR>(o, 0.5, 12);
  if (name == "lambda")
    return std::make_shared<optim::LambdaLR>(o, [](int64_t k) { return 1.0 / static_cast<double>(k + 1); });
  if (name == "multiplicative") return std::make_shared<optim::MultiplicativeLR>(o, [](int64_t) { return 0.8; });
  auto warm = std::make_shared<optim::LinearLR>(o, 0.1, 1.0, 3);
  auto decay = std::make_shared<optim::CosineAnnealingLR>(o, 8);
  return std::make_shared<optim::SequentialLR>(o, std::vector<std::shared_ptr<optim::LRScheduler>>{warm, decay},
                                               std::vector<int64_t>{4});
}
const char* kSchedules[] = {"step",   "multi_step", "constant",  "linear", "exponential",    "polynomial",
                            "cosine", "restarts",   "one_cycle", "lambda", "multiplicative", "sequential"};

// The output, and the gradients of its sum of squares.
IValue results(Case& c) {
  undertow::manual_seed(7);
  Tensor out = c.run();
  if (out.requires_grad()) (out * out).sum().backward();
  IValue::Dict all;
  all.emplace_back("out", out.detach());
  for (auto& [name, p] : c.module->named_parameters())
    if (p.grad().defined()) all.emplace_back(name, p.grad());
  return IValue::dict(all);
}

void write(const std::string& folder) {
  for (auto& [name, make] : cases()) {
    undertow::manual_seed(11);
    Case c = make();
    undertow::save(*c.module, folder + "/" + name + ".pt");
    undertow::save(results(c), folder + "/" + name + ".results.pt");
  }
  for (const char* name : kOptimizers) {
    std::vector<Tensor> p = two_parameters();
    auto optimizer = optimizer_named(name, p);
    take_steps(*optimizer, p, 3);
    undertow::save(*optimizer, folder + "/" + name + ".optimizer.pt");
    undertow::save(IValue(std::vector<Tensor>{p[0].detach(), p[1].detach()}), folder + "/" + name + ".parameters.pt");
  }
  IValue::Dict rates;
  for (const char* name : kSchedules) {
    std::vector<Tensor> p = two_parameters();
    auto optimizer = optimizer_named("sgd_momentum", p);
    auto schedule = schedule_named(name, *optimizer);
    std::vector<double> of;
    for (int k = 0; k < 12; k++) {
      of.push_back(optimizer->param_groups()[0].options().get_lr());
      of.push_back(static_cast<optim::SGDOptions&>(optimizer->param_groups()[0].options()).momentum());
      schedule->step();
    }
    rates.emplace_back(name, IValue(of));
    rates.emplace_back(std::string(name) + ".state", schedule->state_dict());
  }
  undertow::save(IValue::dict(rates), folder + "/rates.pt");
}

// Loads what Python wrote, and writes what follows from it.
void read(const std::string& folder) {
  for (auto& [name, make] : cases()) {
    undertow::manual_seed(1);
    Case c = make();
    undertow::load(*c.module, folder + "/" + name + ".python.pt");
    undertow::save(results(c), folder + "/" + name + ".loaded.pt");
  }
  for (const char* name : kOptimizers) {
    std::vector<Tensor> p = two_parameters();
    auto optimizer = optimizer_named(name, p);
    undertow::load(*optimizer, folder + "/" + name + ".optimizer.python.pt");
    take_steps(*optimizer, p, 2);
    undertow::save(IValue(std::vector<Tensor>{p[0].detach(), p[1].detach()}), folder + "/" + name + ".loaded.pt");
  }
}

bool same(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes() && (a == b).all().item<bool>(); }

void what_is_saved_can_be_loaded(const std::string& folder) {
  for (auto& [name, make] : cases()) {
    undertow::manual_seed(11);
    Case a = make(), b = make();
    undertow::save(*a.module, folder + "/m.pt");
    undertow::load(*b.module, folder + "/m.pt");
    auto mine = a.module->state_dict(), loaded = b.module->state_dict();
    CHECK(mine.keys() == loaded.keys());
    for (auto& [key, t] : mine) CHECK(same(t, loaded[key]));
  }
  nn::Linear first(2, 3), second(2, 3);
  undertow::save(first, folder + "/linear.pt");
  undertow::load(second, folder + "/linear.pt");
  CHECK(same(first->weight, second->weight));
  undertow::serialize::OutputArchive out;
  out.write("t", first->weight);
  out.write("n", IValue(3));
  out.save_to(folder + "/archive.pt");
  undertow::serialize::InputArchive in;
  in.load_from(folder + "/archive.pt");
  Tensor t;
  in.read("t", t);
  CHECK(same(t, first->weight) && in.keys().size() == 2);
  CHECK(throws([&] { in.read("absent", t); }, "No such serialized tensor 'absent'"));
  for (const char* name : kOptimizers) {
    std::vector<Tensor> p = two_parameters(), q = two_parameters();
    auto a = optimizer_named(name, p), b = optimizer_named(name, q);
    take_steps(*a, p, 2);
    undertow::save(*a, folder + "/o.pt");
    undertow::load(*b, folder + "/o.pt");
    undertow::NoGradGuard no_grad;
    for (size_t k = 0; k < 2; k++) q[k].copy_(p[k]);
    undertow::AutoGradMode on(true);
    take_steps(*a, p, 2);
    take_steps(*b, q, 2);
    for (size_t k = 0; k < 2; k++) CHECK(same(p[k], q[k]));
  }
}

void archives_are_written_to_streams() {
  undertow::serialize::OutputArchive out;
  out.write("x", numbers({3, 500}));
  std::stringstream stream;
  out.save_to(stream);
  undertow::serialize::InputArchive in;
  in.load_from(stream);
  Tensor x;
  in.read("x", x);
  CHECK(same(x, numbers({3, 500})));
}

void a_submodule_is_read_from_the_archive_of_its_module() {
  nn::Sequential model(nn::Linear(2, 3), nn::Linear(3, 1));
  undertow::serialize::OutputArchive out;
  model->save(out);
  undertow::serialize::InputArchive in(out.value()), second, none;
  in.read("1", second);
  Tensor bias;
  second.read("bias", bias);
  CHECK(same(bias, model->ptr<nn::Linear>(1)->bias.detach()) && second.keys().size() == 2);
  CHECK(!in.try_read("2", none));
}

int main(int count, char** arguments) {
  std::string what = count > 2 ? arguments[1] : "";
  if (what == "write") return write(arguments[2]), 0;
  if (what == "read") return read(arguments[2]), 0;
  char pattern[] = "/tmp/test_nn_state.XXXXXX";
  std::string folder = mkdtemp(pattern);
  what_is_saved_can_be_loaded(folder);
  archives_are_written_to_streams();
  a_submodule_is_read_from_the_archive_of_its_module();
  std::filesystem::remove_all(folder);
  return report("test_nn_state");
}
