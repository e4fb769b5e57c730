// optimizer.cpp: groups, state dicts, and the step of elementwise optimizers. The reference is
// undertow/optim/optimizer.py and _elementwise.py.
// build: small
#include <undertow/optim/optimizer.h>

#include <unordered_set>

#include <undertow/autograd.h>
#include <undertow/functions.h>
#include <undertow/optim/optimizers.h>

#include "core/forward/optim.h"
#include "core/graph/autograd_meta.h"

namespace undertow::optim {

namespace ops = core::ops;

namespace {

IValue read_option(const OptionRef& option) {
  return std::visit(
      [](const auto& at) -> IValue {
        using T = std::decay_t<decltype(at)>;
        if constexpr (std::is_same_v<T, std::tuple<double, double>*>)
          return IValue::tuple({IValue(std::get<0>(*at)), IValue(std::get<1>(*at))});
        else if constexpr (std::is_pointer_v<T>)
          return IValue(*at);
        else
          return IValue(at);
      },
      option);
}

void write_option(const OptionRef& option, const IValue& value) {
  std::visit(
      [&](const auto& at) {
        using T = std::decay_t<decltype(at)>;
        if constexpr (std::is_same_v<T, std::tuple<double, double>*>) {
          const auto& pair = value.isTuple() ? value.toTupleRef() : value.toListRef();
          UT_CHECK(pair.size() == 2, "load_state_dict: expected two betas, got ", pair.size());
          *at = {pair[0].toDouble(), pair[1].toDouble()};
        } else if constexpr (std::is_same_v<T, double*>) {
          *at = value.isTensor() ? ops::item(value.toTensor()).to_double() : value.toDouble();
        } else if constexpr (std::is_same_v<T, bool*>) {
          *at = value.toBool();
        } else if constexpr (std::is_same_v<T, int64_t*>) {
          *at = value.toInt();
        } else if constexpr (std::is_same_v<T, std::optional<int64_t>*>) {
          *at = value.toOptional<int64_t>();
        } else if constexpr (std::is_same_v<T, std::optional<std::string>*>) {
          *at = value.toOptional<std::string>();
        }
      },
      option);
}

double* lr_of(OptimizerOptions& options) {
  for (auto& [name, at] : options.fields())
    if (std::string_view(name) == "lr") return std::get<double*>(at);
  UT_FAIL("OptimizerOptions: these options have no learning rate");
}

// A loaded value for the state of p: tensors are copied, in p's dtype.
IValue taken(const Tensor& p, const IValue& value) {
  if (value.isTensor()) {
    if (!p.is_floating_point()) return value;
    return ops::to(value.toTensor(), p.core::Tensor::dtype(), /*non_blocking=*/false, /*copy=*/true);
  }
  if (!value.isList()) return value;
  IValue::List list;
  for (const IValue& element : value.toListRef()) list.push_back(taken(p, element));
  return IValue(std::move(list));
}

}  // namespace

void OptimizerParamState::set(const std::string& name, IValue value) {
  if (IValue* known = values_.find(name))
    *known = std::move(value);
  else
    values_.insert(name, std::move(value));
}

bool operator==(const OptimizerOptions& a, const OptimizerOptions& b) {
  if (typeid(a) != typeid(b)) return false;
  const OptionFields mine = const_cast<OptimizerOptions&>(a).fields(),
                     others = const_cast<OptimizerOptions&>(b).fields();
  for (size_t k = 0; k < mine.size(); k++) {
    const bool equal = std::visit(
        [&]<class T>(const T& option) {
          if constexpr (std::is_pointer_v<T>)
            return *option == *std::get<T>(others[k].second);
          else
            return true;  // exists only in Python
        },
        mine[k].second);
    if (!equal) return false;
  }
  return true;
}
double OptimizerOptions::get_lr() const { return *lr_of(const_cast<OptimizerOptions&>(*this)); }
void OptimizerOptions::set_lr(double lr) { *lr_of(*this) = lr; }

OptimizerOptions& OptimizerParamGroup::options() {
  UT_CHECK(options_, "OptimizerParamGroup: this group has no options; an optimizer sets them when it is added");
  return *options_;
}

// -- groups

Optimizer::Optimizer(const std::vector<OptimizerParamGroup>& groups, std::unique_ptr<OptimizerOptions> defaults)
    : defaults_(std::move(defaults)) {
  UT_CHECK_VALUE(!groups.empty(), "optimizer got an empty parameter list");
  for (const OptimizerParamGroup& group : groups) add_param_group(group);
}
Optimizer::Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
    : Optimizer(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {}

void Optimizer::add_param_group(const OptimizerParamGroup& group) {
  std::unordered_set<const void*> known;
  for (const OptimizerParamGroup& g : groups_)
    for (const Tensor& p : g.params()) known.insert(p.impl());
  for (const Tensor& p : group.params()) {
    UT_CHECK_VALUE(p.defined(), "can't optimize an undefined Tensor");
    UT_CHECK_VALUE(p.is_leaf() || p.retains_grad(), "can't optimize a non-leaf Tensor");
    UT_CHECK_VALUE(known.insert(p.impl()).second, "some parameters appear in more than one parameter group");
  }
  OptimizerParamGroup added(group);
  if (!added.has_options()) added.set_options(defaults_->clone());
  groups_.push_back(std::move(added));
}
void Optimizer::add_parameters(const std::vector<Tensor>& parameters) {
  std::vector<Tensor>& mine = this->parameters();
  mine.insert(mine.end(), parameters.begin(), parameters.end());
}
std::vector<Tensor>& Optimizer::parameters() { return groups_.at(0).params(); }
const std::vector<Tensor>& Optimizer::parameters() const { return groups_.at(0).params(); }
std::size_t Optimizer::size() const noexcept {
  std::size_t count = 0;
  for (const OptimizerParamGroup& group : groups_) count += group.params().size();
  return count;
}

void Optimizer::zero_grad(bool set_to_none) {
  for (const OptimizerParamGroup& group : groups_) {
    for (const Tensor& p : group.params()) {
      Tensor grad = p.grad();
      if (!grad.defined()) continue;
      if (set_to_none)
        core::set_grad(p, {});
      else
        ops::zero_(ops::detach(grad));
    }
  }
}

OptimizerParamState* Optimizer::find_state(const Tensor& p) const {
  auto found = state_.find(p.impl());
  return found == state_.end() ? nullptr : found->second.get();
}
OptimizerParamState& Optimizer::make_state(const Tensor& p) {
  auto& place = state_[p.impl()];
  if (!place) place = std::make_unique<OptimizerParamState>();
  return *place;
}

// -- state dicts

IValue Optimizer::state_dict() const {
  IValue::Dict state;
  IValue::List groups;
  int64_t number = 0;
  for (const OptimizerParamGroup& group : groups_) {
    IValue::Dict packed;
    for (auto& [name, at] : const_cast<OptimizerParamGroup&>(group).options().fields())
      packed.emplace_back(name, read_option(at));
    for (const auto& item : group.extra()) packed.emplace_back(item.key(), item.value());
    IValue::List numbers;
    for (const Tensor& p : group.params()) {
      if (OptimizerParamState* of = find_state(p)) {
        IValue::Dict values;
        if (counts_steps())
          values.emplace_back("step",
                              ops::scalar_tensor(Scalar(static_cast<double>(of->step())), core::DType::Float32));
        for (const auto& item : of->values()) values.emplace_back(item.key(), item.value());
        state.emplace_back(number, IValue::dict(std::move(values)));
      }
      numbers.emplace_back(number++);
    }
    packed.emplace_back("params", IValue(std::move(numbers)));
    groups.push_back(IValue::dict(std::move(packed)));
  }
  IValue::Dict whole;
  whole.emplace_back("state", IValue::dict(std::move(state)));
  whole.emplace_back("param_groups", IValue(std::move(groups)));
  return IValue::dict(std::move(whole));
}

void Optimizer::load_state_dict(const IValue& dict) {
  NoGradGuard no_grad;
  const IValue::List& saved = dict.at("param_groups").toListRef();
  UT_CHECK_VALUE(saved.size() == groups_.size(), "loaded state dict has a different number of parameter groups");
  std::unordered_map<int64_t, Tensor> by_number;
  for (size_t g = 0; g < groups_.size(); g++) {
    std::vector<Tensor>& mine = groups_[g].params();
    const IValue::List& numbers = saved[g].at("params").toListRef();
    UT_CHECK_VALUE(numbers.size() == mine.size(),
                   "loaded state dict contains a parameter group that doesn't match the size of optimizer's group");
    for (size_t k = 0; k < mine.size(); k++) by_number[numbers[k].toInt()] = mine[k];
  }
  for (size_t g = 0; g < groups_.size(); g++) {
    std::unordered_set<std::string> known{"params", "param_names"};
    for (auto& [name, at] : groups_[g].options().fields()) {
      known.insert(name);
      if (const IValue* value = saved[g].find(name)) write_option(at, *value);
    }
    groups_[g].extra().clear();
    for (const auto& [name, value] : saved[g].toGenericDict())
      if (name.isString() && !known.contains(name.toStringRef())) groups_[g].extra().insert(name.toStringRef(), value);
  }
  state_.clear();
  for (const auto& [number, values] : dict.at("state").toGenericDict()) {
    if (!number.isInt() || !by_number.contains(number.toInt())) continue;
    const Tensor& p = by_number[number.toInt()];
    OptimizerParamState& of = make_state(p);
    for (const auto& [name, value] : values.toGenericDict()) {
      const std::string& key = name.toStringRef();
      if (key == "step" && counts_steps())
        of.step(static_cast<int64_t>(value.isTensor() ? ops::item(value.toTensor()).to_double() : value.toDouble()));
      else if (!value.isNone())
        of.set(key, taken(p, value));
    }
  }
}

// -- the step of elementwise optimizers

Tensor ElementwiseOptimizer::step(LossClosure closure) {
  Tensor loss;
  if (closure) {
    AutoGradMode enabled(true);
    loss = closure();
  }
  NoGradGuard no_grad;
  for (OptimizerParamGroup& group : groups_) step_group(group);
  return loss;
}

OptimizerParamState& ElementwiseOptimizer::begin(const Tensor& p, const OptimizerOptions& options) {
  OptimizerParamState& state = make_state(p);
  for (const char* key : states(options))
    if (key && !state.contains(key)) state.set(key, ops::full_like(p, Scalar(initial_value(options))));
  return state;
}

void ElementwiseOptimizer::step_group(OptimizerParamGroup& group) {
  const OptimizerOptions& options = group.options();
  const std::vector<const char*> keys = states(options);
  std::vector<std::vector<core::Tensor>> lists(2 + keys.size());
  std::vector<std::vector<double>> rows;
  auto update = [&] {
    if (!lists[0].empty()) core::fwd::optim_update(algorithm(), lists, rows);
    for (size_t k = 0; k < lists.size(); k++)
      for (const core::Tensor& t : lists[k])
        if (k != 1) t.bump_version("an optimizer's step");
    for (auto& list : lists) list.clear();
    rows.clear();
  };
  std::vector<std::pair<core::Tensor, core::Tensor>> narrow;  // half-precision tensors and their float32 copies
  for (const Tensor& p : group.params()) {
    const Tensor& grad = p.grad();
    if (!grad.defined()) continue;
    if (grad.is_sparse()) {
      step_sparse(p, grad, options);
      continue;
    }
    OptimizerParamState* state = find_state(p);
    const bool needs = counts_steps() || !keys.empty();
    const bool is_new = needs && (!state || (!keys.empty() && keys[0] && !state->contains(keys[0])));
    if (is_new) state = &begin(p, options);
    double number = 0;
    if (counts_steps()) {
      state->step(state->step() + 1);
      number = static_cast<double>(state->step());
    }
    rows.push_back(constants(options, number, is_new));
    const core::DType dtype = p.core::Tensor::dtype();
    const bool wide = dtype == core::DType::Float32 || dtype == core::DType::Float64;
    auto add = [&](size_t k, const core::Tensor& t) {
      if (p.is_complex()) {
        lists[k].push_back(ops::view_as_real(t));
      } else if (wide) {
        lists[k].push_back(t);
      } else {  // computed in float32 and rounded once
        lists[k].push_back(ops::to(t, core::DType::Float32));
        if (k != 1) narrow.emplace_back(t, lists[k].back());
      }
    };
    add(0, p);
    add(1, grad);
    for (size_t k = 0; k < keys.size(); k++)
      if (keys[k]) add(2 + k, state->tensor(keys[k]));
  }
  update();
  for (auto& [place, computed] : narrow) ops::copy_(place, computed);
}

void ElementwiseOptimizer::step_sparse(const Tensor&, const Tensor&, const OptimizerOptions&) {
  UT_FAIL(algorithm(), " does not support sparse gradients");
}

}  // namespace undertow::optim
