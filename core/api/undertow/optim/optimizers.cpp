// optimizers.cpp: SGD, Adam, AdamW, RMSprop, Adagrad: their options, states and constants. The reference is
// undertow/optim/sgd.py and its neighbours.
// build: small
#include <undertow/optim/optimizers.h>

#include <cmath>

#include <undertow/autograd/grad_mode.h>
#include <undertow/functions.h>

namespace undertow::optim {

namespace ops = core::ops;
using std::nullopt;

namespace {

double sign_of(bool maximize) { return maximize ? -1.0 : 1.0; }

void check_least(const char* what, double value) { UT_CHECK_VALUE(value >= 0, "Invalid ", what, ": ", value); }
void check_betas(const std::tuple<double, double>& betas) {
  double values[] = {std::get<0>(betas), std::get<1>(betas)};
  for (int i = 0; i < 2; i++)
    UT_CHECK_VALUE(0.0 <= values[i] && values[i] < 1.0, "Invalid beta parameter at index ", i, ": ", values[i]);
}

template <class Options>
void check_adam(const Options& o) {
  check_least("learning rate", o.lr());
  check_least("epsilon value", o.eps());
  check_betas(o.betas());
  check_least("weight_decay value", o.weight_decay());
}

std::vector<const char*> adam_states(bool amsgrad) {
  return {"exp_avg", "exp_avg_sq", amsgrad ? "max_exp_avg_sq" : nullptr};
}

template <class Options>
std::vector<double> adam_constants(const Options& o, double step, bool decoupled) {
  auto [beta1, beta2] = o.betas();
  double decay = decoupled ? 0.0 : o.weight_decay(), shrink = decoupled ? 1 - o.lr() * o.weight_decay() : 1.0;
  return {o.lr() / (1 - std::pow(beta1, step)),
          beta1,
          beta2,
          o.eps(),
          decay,
          shrink,
          std::sqrt(1 - std::pow(beta2, step)),
          sign_of(o.maximize()),
          1 - beta2};
}

template <class Options>
OptionFields adam_fields(Options& o, OptionRef decoupled_weight_decay) {
  return {{"lr", &o.lr()},
          {"betas", &o.betas()},
          {"eps", &o.eps()},
          {"weight_decay", &o.weight_decay()},
          {"amsgrad", &o.amsgrad()},
          {"foreach", nullopt},
          {"maximize", &o.maximize()},
          {"capturable", false},
          {"differentiable", false},
          {"fused", nullopt},
          {"decoupled_weight_decay", decoupled_weight_decay}};
}

}  // namespace

// Options in the order of Python's state dicts; those without a member have one value here.

OptionFields SGDOptions::fields() {
  return {{"lr", &lr_},
          {"momentum", &momentum_},
          {"dampening", &dampening_},
          {"weight_decay", &weight_decay_},
          {"nesterov", &nesterov_},
          {"maximize", &maximize_},
          {"foreach", nullopt},
          {"differentiable", false},
          {"fused", nullopt}};
}
OptionFields AdamOptions::fields() { return adam_fields(*this, &decoupled_weight_decay_); }
OptionFields AdamWOptions::fields() { return adam_fields(*this, true); }
OptionFields RMSpropOptions::fields() {
  return {{"lr", &lr_},
          {"alpha", &alpha_},
          {"eps", &eps_},
          {"weight_decay", &weight_decay_},
          {"momentum", &momentum_},
          {"centered", &centered_},
          {"capturable", false},
          {"foreach", nullopt},
          {"maximize", &maximize_},
          {"differentiable", false}};
}
OptionFields AdagradOptions::fields() {
  return {{"lr", &lr_},
          {"lr_decay", &lr_decay_},
          {"weight_decay", &weight_decay_},
          {"initial_accumulator_value", &initial_accumulator_value_},
          {"eps", &eps_},
          {"foreach", nullopt},
          {"maximize", &maximize_},
          {"differentiable", false},
          {"fused", nullopt}};
}

// -- SGD

SGD::SGD(const std::vector<OptimizerParamGroup>& groups, const SGDOptions& o)
    : ElementwiseOptimizer(groups, std::make_unique<SGDOptions>(o)) {
  check_least("learning rate", o.lr());
  check_least("momentum value", o.momentum());
  check_least("weight_decay value", o.weight_decay());
  UT_CHECK_VALUE(!o.nesterov() || (o.momentum() > 0 && o.dampening() == 0),
                 "Nesterov momentum requires a momentum and zero dampening");
}
const char* SGD::algorithm() const { return "sgd"; }
std::vector<const char*> SGD::states(const OptimizerOptions& options) const {
  if (static_cast<const SGDOptions&>(options).momentum() == 0) return {};
  return {"momentum_buffer"};
}
std::vector<double> SGD::constants(const OptimizerOptions& options, double, bool is_new) const {
  const auto& o = static_cast<const SGDOptions&>(options);
  return {o.lr(),
          o.weight_decay(),
          o.momentum(),
          1 - o.dampening(),
          static_cast<double>(o.nesterov()),
          sign_of(o.maximize()),
          static_cast<double>(is_new)};
}
void SGD::step_sparse(const Tensor& p, const Tensor& grad, const OptimizerOptions& options) {
  const auto& o = static_cast<const SGDOptions&>(options);
  Tensor g = o.maximize() ? Tensor(ops::neg(grad)) : grad;
  if (o.weight_decay() != 0) g = ops::add(g, p, Scalar(o.weight_decay()));
  if (o.momentum() != 0) {
    OptimizerParamState& state = make_state(p);
    if (!state.contains("momentum_buffer"))
      state.set("momentum_buffer", ops::clone(g.detach()));
    else
      ops::add_(ops::mul_(state.tensor("momentum_buffer"), Scalar(o.momentum())), g, Scalar(1 - o.dampening()));
    const Tensor& buffer = state.tensor("momentum_buffer");
    g = o.nesterov() ? Tensor(ops::add(g, buffer, Scalar(o.momentum()))) : buffer;
  }
  ops::add_(p, g, Scalar(-o.lr()));
}

// -- Adam, AdamW

Adam::Adam(const std::vector<OptimizerParamGroup>& groups, const AdamOptions& o)
    : ElementwiseOptimizer(groups, std::make_unique<AdamOptions>(o)) {
  check_adam(o);
}
const char* Adam::algorithm() const { return "adam"; }
std::vector<const char*> Adam::states(const OptimizerOptions& options) const {
  return adam_states(static_cast<const AdamOptions&>(options).amsgrad());
}
std::vector<double> Adam::constants(const OptimizerOptions& options, double step, bool) const {
  const auto& o = static_cast<const AdamOptions&>(options);
  return adam_constants(o, step, o.decoupled_weight_decay());
}

AdamW::AdamW(const std::vector<OptimizerParamGroup>& groups, const AdamWOptions& o)
    : ElementwiseOptimizer(groups, std::make_unique<AdamWOptions>(o)) {
  check_adam(o);
}
const char* AdamW::algorithm() const { return "adam"; }
std::vector<const char*> AdamW::states(const OptimizerOptions& options) const {
  return adam_states(static_cast<const AdamWOptions&>(options).amsgrad());
}
std::vector<double> AdamW::constants(const OptimizerOptions& options, double step, bool) const {
  return adam_constants(static_cast<const AdamWOptions&>(options), step, true);
}

// -- RMSprop

RMSprop::RMSprop(const std::vector<OptimizerParamGroup>& groups, const RMSpropOptions& o)
    : ElementwiseOptimizer(groups, std::make_unique<RMSpropOptions>(o)) {
  check_least("learning rate", o.lr());
  check_least("epsilon value", o.eps());
  check_least("momentum value", o.momentum());
  check_least("weight_decay value", o.weight_decay());
  check_least("alpha value", o.alpha());
}
const char* RMSprop::algorithm() const { return "rmsprop"; }
std::vector<const char*> RMSprop::states(const OptimizerOptions& options) const {
  const auto& o = static_cast<const RMSpropOptions&>(options);
  return {"square_avg", o.momentum() > 0 ? "momentum_buffer" : nullptr, o.centered() ? "grad_avg" : nullptr};
}
std::vector<double> RMSprop::constants(const OptimizerOptions& options, double, bool) const {
  const auto& o = static_cast<const RMSpropOptions&>(options);
  return {o.lr(), o.alpha(), o.eps(), o.weight_decay(), o.momentum(), sign_of(o.maximize())};
}

// -- Adagrad

Adagrad::Adagrad(const std::vector<OptimizerParamGroup>& groups, const AdagradOptions& o)
    : ElementwiseOptimizer(groups, std::make_unique<AdagradOptions>(o)) {
  check_least("learning rate", o.lr());
  check_least("lr_decay value", o.lr_decay());
  check_least("weight_decay value", o.weight_decay());
  check_least("initial_accumulator_value value", o.initial_accumulator_value());
  check_least("epsilon value", o.eps());
  NoGradGuard no_grad;
  for (OptimizerParamGroup& group : groups_)
    for (const Tensor& p : group.params()) begin(p, group.options());
}
const char* Adagrad::algorithm() const { return "adagrad"; }
std::vector<const char*> Adagrad::states(const OptimizerOptions&) const { return {"sum"}; }
std::vector<double> Adagrad::constants(const OptimizerOptions& options, double step, bool) const {
  const auto& o = static_cast<const AdagradOptions&>(options);
  return {o.lr() / (1 + (step - 1) * o.lr_decay()), o.eps(), o.weight_decay(), sign_of(o.maximize())};
}
double Adagrad::initial_value(const OptimizerOptions& options) const {
  return static_cast<const AdagradOptions&>(options).initial_accumulator_value();
}

}  // namespace undertow::optim
