// test_optim.cpp: optimizers and schedules: they train, groups and options, state dicts, errors.
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include <undertow/nn.h>
#include <undertow/optim.h>
#include <undertow/undertow.h>

#include "tests/cpp/check.h"
#include "tests/cpp/frontend/throws.h"

namespace nn = undertow::nn;
namespace optim = undertow::optim;
using undertow::Tensor;

Tensor leaf(double value) { return undertow::full({3}, value).requires_grad_(); }

// sum((w - target)^2), from w = 1.
template <class Make>
double trained(Make make, int steps) {
  Tensor w = leaf(1.0), target = undertow::tensor({0.5, -1.0, 2.0});
  auto optimizer = make(std::vector<Tensor>{w});
  auto closure = [&] {
    optimizer->zero_grad();
    Tensor loss = (w - target).pow(2).sum();
    loss.backward();
    return loss;
  };
  for (int k = 0; k < steps; k++) optimizer->step(closure);
  return closure().template item<float>();
}

void every_optimizer_descends() {
  using P = std::vector<Tensor>;
  CHECK(trained([](P p) { return std::make_unique<optim::SGD>(p, 0.1); }, 60) < 1e-3);
  auto momentum = optim::SGDOptions(0.05).momentum(0.9).nesterov(true);
  CHECK(trained([&](P p) { return std::make_unique<optim::SGD>(p, momentum); }, 100) < 1e-3);
  CHECK(trained([](P p) { return std::make_unique<optim::Adam>(p, 0.1); }, 150) < 1e-2);
  CHECK(trained([](P p) { return std::make_unique<optim::AdamW>(p, optim::AdamWOptions(0.1).amsgrad(true)); }, 200) <
        1e-1);
  auto rms = optim::RMSpropOptions(0.02).centered(true).momentum(0.5);
  CHECK(trained([&](P p) { return std::make_unique<optim::RMSprop>(p, rms); }, 200) < 1e-2);
  CHECK(trained([](P p) { return std::make_unique<optim::Adagrad>(p, 0.5); }, 200) < 1e-2);
  CHECK(trained([](P p) { return std::make_unique<optim::LBFGS>(p, optim::LBFGSOptions(0.5)); }, 5) < 1e-4);
  auto wolfe = optim::LBFGSOptions(1).line_search_fn("strong_wolfe");
  CHECK(trained([&](P p) { return std::make_unique<optim::LBFGS>(p, wolfe); }, 3) < 1e-8);
}

void groups_have_their_own_options() {
  Tensor a = leaf(1), b = leaf(1);
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{a});
  groups.emplace_back(std::vector<Tensor>{b}, std::make_unique<optim::SGDOptions>(0.5));
  optim::SGD optimizer(groups, optim::SGDOptions(0.1));
  CHECK(optimizer.size() == 2 && optimizer.parameters().size() == 1);
  (a.sum() + b.sum()).backward();
  optimizer.step();
  CHECK(std::fabs(a[0].item<float>() - 0.9f) < 1e-6 && b[0].item<float>() == 0.5f);
  for (auto& group : optimizer.param_groups()) static_cast<optim::SGDOptions&>(group.options()).lr(0.25);
  CHECK(optimizer.param_groups()[0].options().get_lr() == 0.25);
  CHECK(throws([&] { optimizer.add_param_group(std::vector<Tensor>{a}); }, "more than one parameter group"));
  CHECK(throws([&] { optim::SGD bad({a * 2}, 0.1); }, "can't optimize a non-leaf Tensor"));
  CHECK(throws([&] { optim::SGD bad({a}, -1); }, "Invalid learning rate: -1"));
}

void a_loaded_state_continues_the_same() {
  Tensor w = leaf(1), v = leaf(1);
  optim::Adam first({w}, optim::AdamOptions(0.1).betas({0.8, 0.9}));
  auto advance = [](optim::Adam& optimizer, Tensor& p) {
    optimizer.zero_grad();
    p.pow(3).sum().backward();
    optimizer.step();
  };
  advance(first, w);
  advance(first, w);
  optim::Adam second({v}, optim::AdamOptions(0.7));
  {
    undertow::NoGradGuard no_grad;
    v.copy_(w);
  }
  undertow::IValue state = first.state_dict();
  second.load_state_dict(state);
  advance(first, w);
  advance(second, v);
  CHECK((w == v).all().item<bool>());
  CHECK(state.at("param_groups").toListRef()[0].at("betas").toTupleRef()[0].toDouble() == 0.8);
  CHECK(second.param_groups()[0].options().get_lr() == 0.1);
  optim::Adam other({leaf(1), leaf(1)});
  CHECK(throws([&] { other.load_state_dict(state); }, "doesn't match the size of optimizer's group"));
}

void schedules() {
  optim::SGD optimizer({leaf(1)}, 1.0);
  optim::StepLR schedule(optimizer, 2, 0.5);
  std::vector<double> rates;
  for (int k = 0; k < 5; k++) {
    rates.push_back(optimizer.param_groups()[0].options().get_lr());
    optimizer.step();
    schedule.step();
  }
  CHECK((rates == std::vector<double>{1, 1, 0.5, 0.5, 0.25}));
  optim::SGD other({leaf(1)}, 1.0);
  optim::ReduceLROnPlateauScheduler plateau(other, optim::ReduceLROnPlateauScheduler::min, 0.1, 1);
  for (double metric : {1.0, 1.0, 1.0, 1.0}) plateau.step(metric);
  CHECK(std::fabs(other.param_groups()[0].options().get_lr() - 0.1) < 1e-12);
}

// What a function prints on standard output.
template <class F>
std::string printed(F function) {
  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  std::FILE* file = std::tmpfile();
  dup2(fileno(file), STDOUT_FILENO);
  function();
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  std::rewind(file);
  char text[200] = {};
  const size_t count = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  return std::string(text, count);
}

void a_verbose_plateau_prints_the_reduction() {
  optim::SGD optimizer({leaf(1)}, 1.0);
  using Plateau = optim::ReduceLROnPlateauScheduler;
  Plateau plateau(optimizer, Plateau::min, 0.5, 0, 1e-4, Plateau::rel, 0, {}, 1e-8, /*verbose=*/true);
  CHECK(printed([&] { plateau.step(1); }).empty());
  CHECK(printed([&] { plateau.step(1); }) == "Epoch 2: reducing learning rate of group 0 to 0.5\n");
}

void clipping() {
  Tensor w = undertow::zeros({4}).requires_grad_();
  (w * 3).sum().backward();
  CHECK(nn::utils::clip_grad_norm_(w, 1.0) == 6.0);
  CHECK(std::fabs(w.grad().norm().item<float>() - 1) < 1e-5);
  nn::utils::clip_grad_value_({w}, 0.1);
  CHECK(w.grad()[0].item<float>() == 0.1f);
}

void options_are_compared() {
  using optim::AdamOptions;
  CHECK(AdamOptions(0.1).betas({0.5, 0.9}) == AdamOptions(0.1).betas({0.5, 0.9}));
  CHECK(!(AdamOptions(0.1) == AdamOptions(0.2)) && AdamOptions() != AdamOptions().amsgrad(true));
  CHECK(!(optim::SGDOptions(0.1) == optim::AdagradOptions(0.1)));
}

int main() {
  options_are_compared();
  every_optimizer_descends();
  groups_have_their_own_options();
  a_loaded_state_continues_the_same();
  schedules();
  a_verbose_plateau_prints_the_reduction();
  clipping();
  return report("test_optim");
}
