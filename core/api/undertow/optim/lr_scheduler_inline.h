// lr_scheduler_inline.h: the definitions of lr_scheduler.h. The reference is undertow/optim/lr_scheduler.py and its
// neighbours. In a header, so that a schedule costs nothing where it is not used.
#pragma once
#include <undertow/optim/lr_scheduler.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace undertow::optim {

namespace lr_detail {

constexpr double kPi = std::numbers::pi;

inline double power(double base, int64_t exponent) { return std::pow(base, static_cast<double>(exponent)); }
inline double real(int64_t n) { return static_cast<double>(n); }

inline void set_extra(OptimizerParamGroup& group, const char* name, double value) {
  if (IValue* known = group.extra().find(name))
    *known = IValue(value);
  else
    group.extra().insert(name, IValue(value));
}

// Sets "momentum", or the first of "betas".
inline void set_momentum(OptimizerOptions& options, double momentum) {
  for (auto& [name, at] : options.fields()) {
    if (std::string_view(name) == "momentum") *std::get<double*>(at) = momentum;
    if (std::string_view(name) == "betas") std::get<0>(*std::get<std::tuple<double, double>*>(at)) = momentum;
  }
}
inline bool has_momentum(OptimizerOptions& options) {
  for (auto& [name, at] : options.fields())
    if (std::string_view(name) == "momentum" || std::string_view(name) == "betas") return true;
  return false;
}

}  // namespace lr_detail

inline LRScheduler::LRScheduler(Optimizer& optimizer, int64_t last_epoch)
    : optimizer_(optimizer), last_epoch_(last_epoch) {
  size_t k = 0;
  for (OptimizerParamGroup& group : optimizer.param_groups()) {
    if (last_epoch == -1 && !group.extra().contains("initial_lr"))
      lr_detail::set_extra(group, "initial_lr", group.options().get_lr());
    UT_CHECK_AS(Key, group.extra().contains("initial_lr"), "param 'initial_lr' is not specified in param_groups[", k,
                "] when resuming scheduler with last_epoch >= 0. Load the optimizer's state first");
    base_lrs_.push_back(group.extra()["initial_lr"].toDouble());
    k++;
  }
  last_lrs_ = get_current_lrs();
}

inline void LRScheduler::start() {
  step_count_ = 0;
  is_initial_ = true;
  step();
  is_initial_ = false;
}

inline void LRScheduler::step() {
  last_epoch_++;
  std::vector<double> lrs = get_lrs();
  step_count_++;
  set_optimizer_lrs(lrs);
}

inline void LRScheduler::set_epoch(int64_t epoch) {
  last_epoch_ = epoch;
  std::vector<double> lrs;
  for (double base : base_lrs_) {
    std::optional<double> lr = closed_form(base);
    if (!lr) {
      lrs = get_lrs();
      break;
    }
    lrs.push_back(*lr);
  }
  set_optimizer_lrs(lrs);
}

inline std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> lrs;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) lrs.push_back(group.options().get_lr());
  return lrs;
}
inline void LRScheduler::set_optimizer_lrs(const std::vector<double>& lrs) {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  UT_CHECK(lrs.size() == groups.size(), "Number of learning rates (", lrs.size(), ") does not match the number of ",
           "parameter groups (", groups.size(), ")");
  for (size_t k = 0; k < lrs.size(); k++) groups[k].options().set_lr(lrs[k]);
  last_lrs_ = lrs;
}
inline std::vector<double> LRScheduler::get_lrs() {
  std::vector<double> lrs = get_current_lrs();
  for (size_t k = 0; k < lrs.size(); k++) lrs[k] = next_lr(lrs[k], base_lrs_[k], k);
  return lrs;
}
inline double LRScheduler::next_lr(double lr, double, size_t) { return lr; }
inline std::optional<double> LRScheduler::closed_form(double) const { return std::nullopt; }

inline IValue LRScheduler::state_dict() const {
  IValue::Dict dict;
  for (auto& [name, at] : const_cast<LRScheduler*>(this)->fields()) {
    if (auto* number = std::get_if<double*>(&at)) dict.emplace_back(name, **number);
    if (auto* number = std::get_if<int64_t*>(&at)) dict.emplace_back(name, **number);
    if (auto* flag = std::get_if<bool*>(&at)) dict.emplace_back(name, **flag);
  }
  dict.emplace_back("base_lrs", IValue(base_lrs_));
  dict.emplace_back("last_epoch", last_epoch_);
  dict.emplace_back("_step_count", static_cast<int64_t>(step_count_));
  dict.emplace_back("_is_initial", false);
  dict.emplace_back("_get_lr_called_within_step", false);
  dict.emplace_back("_last_lr", IValue(last_lrs_));
  return IValue::dict(std::move(dict));
}
inline void LRScheduler::load_state_dict(const IValue& state) {
  for (auto& [name, at] : fields()) {
    const IValue* value = state.find(name);
    if (!value) continue;
    if (auto* number = std::get_if<double*>(&at)) **number = value->toDouble();
    if (auto* number = std::get_if<int64_t*>(&at)) **number = value->toInt();
    if (auto* flag = std::get_if<bool*>(&at)) **flag = value->toBool();
  }
  base_lrs_ = state.at("base_lrs").toDoubleVector();
  last_epoch_ = state.at("last_epoch").toInt();
  step_count_ = static_cast<unsigned>(state.at("_step_count").toInt());
  last_lrs_ = state.at("_last_lr").toDoubleVector();
}

// -- the schedules

inline StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), step_size_(step_size), gamma_(gamma) {
  UT_CHECK_VALUE(step_size > 0, "StepLR: step_size must be positive, got ", step_size);
  start();
}
inline double StepLR::next_lr(double lr, double, size_t) {
  return last_epoch_ == 0 || last_epoch_ % step_size_ != 0 ? lr : lr * gamma_;
}
inline std::optional<double> StepLR::closed_form(double base) const {
  return base * lr_detail::power(gamma_, last_epoch_ / step_size_);
}

inline MultiStepLR::MultiStepLR(Optimizer& optimizer, const std::vector<int64_t>& milestones, double gamma,
                                int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), gamma_(gamma) {
  for (int64_t m : milestones) milestones_[m]++;
  start();
}
inline double MultiStepLR::next_lr(double lr, double, size_t) {
  auto at = milestones_.find(last_epoch_);
  return at == milestones_.end() ? lr : lr * lr_detail::power(gamma_, at->second);
}
inline std::optional<double> MultiStepLR::closed_form(double base) const {
  int64_t passed = 0;
  for (auto [milestone, times] : milestones_) passed += milestone <= last_epoch_ ? times : 0;
  return base * lr_detail::power(gamma_, passed);
}

inline ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), factor_(factor), total_iters_(total_iters) {
  UT_CHECK_VALUE(factor >= 0 && factor <= 1, "Constant multiplicative factor expected to be between 0 and 1.");
  start();
}
inline double ConstantLR::next_lr(double lr, double, size_t) {
  if (last_epoch_ == 0) return lr * factor_;
  return last_epoch_ != total_iters_ ? lr : lr * (1.0 / factor_);
}
inline std::optional<double> ConstantLR::closed_form(double base) const {
  return base * (factor_ + (last_epoch_ >= total_iters_ ? 1.0 : 0.0) * (1 - factor_));
}

inline LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor, int64_t total_iters,
                          int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch),
      start_factor_(start_factor),
      end_factor_(end_factor),
      total_iters_(total_iters) {
  UT_CHECK_VALUE(start_factor > 0 && start_factor <= 1,
                 "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.");
  UT_CHECK_VALUE(end_factor >= 0 && end_factor <= 1, "Ending multiplicative factor expected to be between 0 and 1.");
  start();
}
inline double LinearLR::next_lr(double lr, double, size_t) {
  if (last_epoch_ == 0) return lr * start_factor_;
  if (is_initial_ || last_epoch_ > total_iters_) return lr;
  double rise = end_factor_ - start_factor_;
  return lr * (1.0 + rise / (lr_detail::real(total_iters_) * start_factor_ + lr_detail::real(last_epoch_ - 1) * rise));
}
inline std::optional<double> LinearLR::closed_form(double base) const {
  double rise = end_factor_ - start_factor_;
  return base *
         (start_factor_ + rise * lr_detail::real(std::min(total_iters_, last_epoch_)) / lr_detail::real(total_iters_));
}

inline ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), gamma_(gamma) {
  start();
}
inline double ExponentialLR::next_lr(double lr, double, size_t) { return is_initial_ ? lr : lr * gamma_; }
inline std::optional<double> ExponentialLR::closed_form(double base) const {
  return base * lr_detail::power(gamma_, last_epoch_);
}

inline PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), total_iters_(total_iters), power_(power) {
  start();
}
inline double PolynomialLR::next_lr(double lr, double, size_t) {
  if (is_initial_ || last_epoch_ > total_iters_) return lr;
  double now = 1.0 - lr_detail::real(last_epoch_) / lr_detail::real(total_iters_),
         before = 1.0 - lr_detail::real(last_epoch_ - 1) / lr_detail::real(total_iters_);
  return lr * std::pow(now / before, power_);
}
inline std::optional<double> PolynomialLR::closed_form(double base) const {
  return base *
         std::pow(1.0 - lr_detail::real(std::min(total_iters_, last_epoch_)) / lr_detail::real(total_iters_), power_);
}

inline CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), T_max_(T_max), eta_min_(eta_min) {
  UT_CHECK_VALUE(T_max > 0, "CosineAnnealingLR: T_max must be positive, got ", T_max);
  start();
}
inline double CosineAnnealingLR::next_lr(double lr, double base, size_t) {
  if (is_initial_) return lr;
  if (step_count_ == 0 && last_epoch_ > 0) return *closed_form(base);
  if ((last_epoch_ - 1 - T_max_) % (2 * T_max_) == 0)
    return lr + (base - eta_min_) * (1 - std::cos(lr_detail::kPi / lr_detail::real(T_max_))) / 2;
  double ratio = (1 + std::cos(lr_detail::kPi * lr_detail::real(last_epoch_) / lr_detail::real(T_max_))) /
                 (1 + std::cos(lr_detail::kPi * lr_detail::real(last_epoch_ - 1) / lr_detail::real(T_max_)));
  return ratio * (lr - eta_min_) + eta_min_;
}
inline std::optional<double> CosineAnnealingLR::closed_form(double base) const {
  return eta_min_ + (base - eta_min_) *
                        (1 + std::cos(lr_detail::kPi * lr_detail::real(last_epoch_) / lr_detail::real(T_max_))) / 2;
}

inline CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult,
                                                                double eta_min, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), T_0_(T_0), T_i_(T_0), T_mult_(T_mult), T_cur_(last_epoch), eta_min_(eta_min) {
  UT_CHECK_VALUE(T_0 > 0, "Expected positive integer T_0, but got ", T_0);
  UT_CHECK_VALUE(T_mult >= 1, "Expected integer T_mult >= 1, but got ", T_mult);
  start();
}
inline void CosineAnnealingWarmRestarts::step() {
  if (last_epoch_ < 0) {
    T_i_ = T_0_;
    T_cur_ = 0;
  } else if (++T_cur_ >= T_i_) {
    T_cur_ %= T_i_;
    T_i_ *= T_mult_;
  }
  LRScheduler::step();
}
inline double CosineAnnealingWarmRestarts::next_lr(double, double base, size_t) {
  return eta_min_ +
         (base - eta_min_) * (1 + std::cos(lr_detail::kPi * lr_detail::real(T_cur_) / lr_detail::real(T_i_))) / 2;
}

inline OneCycleLR::OneCycleLR(Optimizer& optimizer, double max_lr, int64_t total_steps, double pct_start,
                              const std::string& anneal_strategy, bool cycle_momentum, double base_momentum,
                              double max_momentum, double div_factor, double final_div_factor, bool three_phase,
                              int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch),
      total_steps_(total_steps),
      cosine_(anneal_strategy == "cos"),
      cycle_momentum_(cycle_momentum) {
  UT_CHECK_VALUE(total_steps > 0, "Expected positive integer total_steps, but got ", total_steps);
  UT_CHECK_VALUE(pct_start >= 0 && pct_start <= 1, "Expected float between 0 and 1 pct_start, but got ", pct_start);
  UT_CHECK_VALUE(cosine_ || anneal_strategy == "linear",
                 "anneal_strategy must be one of 'cos' or 'linear', instead got ", anneal_strategy);
  double first = pct_start * lr_detail::real(total_steps) - 1, last = lr_detail::real(total_steps - 1);
  if (three_phase)
    phases_ = {
        {first, "initial_lr", "max_lr", "max_momentum", "base_momentum"},
        {2 * pct_start * lr_detail::real(total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"},
        {last, "initial_lr", "min_lr", "max_momentum", "max_momentum"}};
  else
    phases_ = {{first, "initial_lr", "max_lr", "max_momentum", "base_momentum"},
               {last, "max_lr", "min_lr", "base_momentum", "max_momentum"}};
  UT_CHECK_VALUE(!cycle_momentum || lr_detail::has_momentum(optimizer.defaults()),
                 "optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
  if (last_epoch == -1) {
    base_lrs_.clear();
    for (OptimizerParamGroup& group : optimizer.param_groups()) {
      lr_detail::set_extra(group, "initial_lr", max_lr / div_factor);
      lr_detail::set_extra(group, "max_lr", max_lr);
      lr_detail::set_extra(group, "min_lr", max_lr / div_factor / final_div_factor);
      base_lrs_.push_back(max_lr / div_factor);
      if (!cycle_momentum) continue;
      lr_detail::set_momentum(group.options(), max_momentum);
      lr_detail::set_extra(group, "max_momentum", max_momentum);
      lr_detail::set_extra(group, "base_momentum", base_momentum);
    }
  }
  start();
}
inline double OneCycleLR::anneal(double start, double end, double part) const {
  return cosine_ ? end + (start - end) / 2.0 * (std::cos(lr_detail::kPi * part) + 1) : (end - start) * part + start;
}
inline double OneCycleLR::next_lr(double, double, size_t k) {
  UT_CHECK_VALUE(last_epoch_ <= total_steps_, "Tried to step ", last_epoch_,
                 " times. The specified number of total steps is ", total_steps_);
  OptimizerParamGroup& group = optimizer_.param_groups()[k];
  auto value = [&](const char* name) { return group.extra()[name].toDouble(); };
  double begin = 0, step = lr_detail::real(last_epoch_);
  size_t i = 0;
  for (; i + 1 < phases_.size() && step > phases_[i].end_step; i++) begin = phases_[i].end_step;
  const Phase& phase = phases_[i];
  double part = (step - begin) / (phase.end_step - begin);
  if (cycle_momentum_)
    lr_detail::set_momentum(group.options(), anneal(value(phase.start_momentum), value(phase.end_momentum), part));
  return anneal(value(phase.start_lr), value(phase.end_lr), part);
}

inline LambdaLR::LambdaLR(Optimizer& optimizer, Function function, int64_t last_epoch)
    : LambdaLR(optimizer, std::vector<Function>(optimizer.param_groups().size(), function), last_epoch) {}
inline LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Function> functions, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), functions_(std::move(functions)) {
  UT_CHECK_VALUE(functions_.size() == optimizer.param_groups().size(), "Expected ", optimizer.param_groups().size(),
                 " lr_lambdas, but got ", functions_.size());
  start();
}
inline double LambdaLR::next_lr(double, double base, size_t group) { return base * functions_[group](last_epoch_); }

inline MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, Function function, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), function_(std::move(function)) {
  start();
}
inline double MultiplicativeLR::next_lr(double lr, double, size_t) {
  return is_initial_ ? lr : lr * function_(last_epoch_);
}

// -- composed schedules

inline SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
                                  std::vector<int64_t> milestones, int64_t last_epoch)
    : LRScheduler(optimizer, last_epoch), schedulers_(std::move(schedulers)), milestones_(std::move(milestones)) {
  UT_CHECK_VALUE(!schedulers_.empty(), "SequentialLR expects at least one scheduler, but got no scheduler.");
  UT_CHECK_VALUE(milestones_.size() + 1 == schedulers_.size(),
                 "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                 "milestone points, but got number of schedulers ",
                 schedulers_.size(), " and the number of milestones to be equal to ", milestones_.size());
  for (auto& s : schedulers_)
    UT_CHECK_VALUE(&s->optimizer() == &optimizer,
                   "SequentialLR expects all schedulers to belong to the same optimizer");
  last_epoch_ = last_epoch + 1;
  for (OptimizerParamGroup& group : optimizer.param_groups())
    group.options().set_lr(group.extra()["initial_lr"].toDouble());
  undo();
  schedulers_[0]->start();
  last_lrs_ = schedulers_[0]->get_last_lr();
}
inline void SequentialLR::undo() {
  for (auto& s : schedulers_) s->undo();
}
inline void SequentialLR::start() { schedulers_[0]->start(); }
inline void SequentialLR::step() {
  last_epoch_++;
  size_t index =
      static_cast<size_t>(std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) - milestones_.begin());
  LRScheduler& now = *schedulers_[index];
  if (index > 0 && milestones_[index - 1] == last_epoch_)
    now.set_epoch(0);
  else
    now.step();
  last_lrs_ = now.get_last_lr();
}
inline IValue SequentialLR::state_dict() const {
  IValue state = LRScheduler::state_dict();
  IValue::List inner;
  for (const auto& s : schedulers_) inner.push_back(s->state_dict());
  state.toGenericDict().emplace_back("_milestones", IValue(milestones_));
  state.toGenericDict().emplace_back("_schedulers", IValue(std::move(inner)));
  return state;
}
inline void SequentialLR::load_state_dict(const IValue& state) {
  last_epoch_ = state.at("last_epoch").toInt();
  last_lrs_ = state.at("_last_lr").toDoubleVector();
  milestones_ = state.at("_milestones").toIntVector();
  const IValue::List& inner = state.at("_schedulers").toListRef();
  UT_CHECK_VALUE(inner.size() == schedulers_.size(), "SequentialLR: the loaded state has ", inner.size(),
                 " schedulers, expected ", schedulers_.size());
  for (size_t k = 0; k < inner.size(); k++) schedulers_[k]->load_state_dict(inner[k]);
}

inline ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode, double factor,
                                                              int64_t patience, double threshold,
                                                              ThresholdMode threshold_mode, int64_t cooldown,
                                                              std::vector<double> min_lr, double eps, bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(std::move(min_lr)),
      eps_(eps),
      best_(mode == min ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity()),
      verbose_(verbose) {
  UT_CHECK_VALUE(factor < 1.0, "Factor should be < 1.0.");
  size_t groups = optimizer.param_groups().size();
  if (min_lrs_.empty()) min_lrs_ = {0};
  if (min_lrs_.size() == 1) min_lrs_.resize(groups, min_lrs_[0]);
  UT_CHECK_VALUE(min_lrs_.size() == groups, "expected ", groups, " min_lrs, got ", min_lrs_.size());
}
inline bool ReduceLROnPlateauScheduler::is_better(double a) const {
  if (threshold_mode_ == rel) return mode_ == min ? a < best_ * (1.0 - threshold_) : a > best_ * (threshold_ + 1.0);
  return mode_ == min ? a < best_ - threshold_ : a > best_ + threshold_;
}
inline void ReduceLROnPlateauScheduler::step(double metric) {
  last_epoch_++;
  if (is_better(metric)) {
    best_ = metric;
    bad_epochs_ = 0;
  } else {
    bad_epochs_++;
  }
  if (cooldown_counter_ > 0) {
    cooldown_counter_--;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ <= patience_) return;
  size_t k = 0;
  for (OptimizerParamGroup& group : optimizer_.param_groups()) {
    double old = group.options().get_lr(), lr = std::max(old * factor_, min_lrs_[k]);
    if (old - lr > eps_) {
      group.options().set_lr(lr);
      if (verbose_)
        std::printf("Epoch %lld: reducing learning rate of group %zu to %.4g\n", static_cast<long long>(last_epoch_), k,
                    lr);
    }
    k++;
  }
  cooldown_counter_ = cooldown_;
  bad_epochs_ = 0;
}

}  // namespace undertow::optim
