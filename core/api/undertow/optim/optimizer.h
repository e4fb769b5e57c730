// optimizer.h: `Optimizer`: parameter groups, options, state, state dicts. Subclasses define the step.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include <undertow/tensor.h>
#include <undertow/types/arg.h>
#include <undertow/types/ivalue.h>
#include <undertow/types/ordered_dict.h>

namespace undertow {
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize

namespace optim {

// Where an option is stored; or, for options that exist only in Python, the value that a state dict gets.
using OptionRef = std::variant<std::nullopt_t, bool, double*, bool*, int64_t*, std::tuple<double, double>*,
                               std::optional<int64_t>*, std::optional<std::string>*>;
using OptionFields = std::vector<std::pair<const char*, OptionRef>>;

// The options of a parameter group.
class OptimizerOptions {
 public:
  OptimizerOptions() = default;
  OptimizerOptions(const OptimizerOptions&) = default;
  OptimizerOptions& operator=(const OptimizerOptions&) = default;
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const = 0;
  // All options by Python's names, in the order of its state dicts.
  virtual OptionFields fields() { return {}; }
  double get_lr() const;
  void set_lr(double lr);
};
// Of the same class, and with equal values.
bool operator==(const OptimizerOptions& a, const OptimizerOptions& b);
template <typename Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

// What an optimizer remembers about one parameter: values by Python's names, and the number of steps.
class OptimizerParamState {
 public:
  virtual ~OptimizerParamState() = default;
  const Tensor& tensor(const std::string& name) const { return values_[name].toTensor(); }
  bool contains(const std::string& name) const { return values_.contains(name); }
  const IValue* find(const std::string& name) const { return values_.find(name); }
  void set(const std::string& name, IValue value);
  const OrderedDict<std::string, IValue>& values() const { return values_; }
  int64_t step() const { return step_; }
  void step(int64_t step) { step_ = step; }

 private:
  OrderedDict<std::string, IValue> values_;
  int64_t step_ = 0;
};

class OptimizerParamGroup {
 public:
  OptimizerParamGroup(std::vector<Tensor> params) : params_(std::move(params)) {}
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options)
      : params_(std::move(params)), options_(std::move(options)) {}
  OptimizerParamGroup(const OptimizerParamGroup& other)
      : params_(other.params_), options_(other.options_ ? other.options_->clone() : nullptr), extra_(other.extra_) {}
  OptimizerParamGroup(OptimizerParamGroup&&) noexcept = default;
  OptimizerParamGroup& operator=(OptimizerParamGroup&&) noexcept = default;
  bool has_options() const { return options_ != nullptr; }
  OptimizerOptions& options();
  const OptimizerOptions& options() const { return const_cast<OptimizerParamGroup*>(this)->options(); }
  void set_options(std::unique_ptr<OptimizerOptions> options) { options_ = std::move(options); }
  std::vector<Tensor>& params() { return params_; }
  const std::vector<Tensor>& params() const { return params_; }
  // Values that schedulers keep in the group, such as "initial_lr".
  OrderedDict<std::string, IValue>& extra() { return extra_; }
  const OrderedDict<std::string, IValue>& extra() const { return extra_; }

 private:
  std::vector<Tensor> params_;
  std::unique_ptr<OptimizerOptions> options_;
  OrderedDict<std::string, IValue> extra_;
};

class Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;
  using States = std::unordered_map<void*, std::unique_ptr<OptimizerParamState>>;

  Optimizer(const std::vector<OptimizerParamGroup>& groups, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults);
  Optimizer(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  virtual ~Optimizer() = default;

  void add_param_group(const OptimizerParamGroup& group);
  void add_parameters(const std::vector<Tensor>& parameters);
  // Updates the parameters. The closure computes the loss and its gradients again, for algorithms that need it.
  virtual Tensor step(LossClosure closure = nullptr) = 0;
  void zero_grad(bool set_to_none = true);

  const std::vector<Tensor>& parameters() const;  // of the first group
  std::vector<Tensor>& parameters();
  std::size_t size() const noexcept;  // the number of parameters in all groups
  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  std::vector<OptimizerParamGroup>& param_groups() noexcept { return groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return groups_; }
  States& state() noexcept { return state_; }  // by the tensor's impl()
  const States& state() const noexcept { return state_; }

  // Options and state, with parameters by number: the dict of Python's state_dict.
  IValue state_dict() const;
  void load_state_dict(const IValue& state);
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

 protected:
  OptimizerParamState* find_state(const Tensor& p) const;
  OptimizerParamState& make_state(const Tensor& p);
  virtual bool counts_steps() const { return true; }  // if a state dict has "step"

  std::vector<OptimizerParamGroup> groups_;
  States state_;
  std::unique_ptr<OptimizerOptions> defaults_;
};

// Optimizers that update each element independently: one native update for a whole group. A subclass names the core's
// algorithm, its states in the algorithm's order, and the constants of a step.
class ElementwiseOptimizer : public Optimizer {
 public:
  using Optimizer::Optimizer;
  Tensor step(LossClosure closure = nullptr) override;

 protected:
  virtual const char* algorithm() const = 0;
  // Python's names; null for a state that the options of this group do not need.
  virtual std::vector<const char*> states(const OptimizerOptions& options) const = 0;
  virtual std::vector<double> constants(const OptimizerOptions& options, double step, bool is_new) const = 0;
  virtual double initial_value(const OptimizerOptions&) const { return 0; }
  virtual void step_sparse(const Tensor& p, const Tensor& grad, const OptimizerOptions& options);
  OptimizerParamState& begin(const Tensor& p, const OptimizerOptions& options);

 private:
  void step_group(OptimizerParamGroup& group);
};

}  // namespace optim
}  // namespace undertow
