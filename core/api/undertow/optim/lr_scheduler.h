// lr_scheduler.h: learning-rate schedules. The rates are those of Python's schedulers: the constructor sets the rate of
// epoch 0, and every step() that of the next epoch.
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include <undertow/optim/optimizer.h>

namespace undertow::optim {

class LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer, int64_t last_epoch = -1);
  virtual ~LRScheduler() = default;
  inline virtual void step();
  const std::vector<double>& get_last_lr() const { return last_lrs_; }
  int64_t last_epoch() const { return last_epoch_; }
  Optimizer& optimizer() { return optimizer_; }
  // Everything but the optimizer and functions, with Python's names.
  inline virtual IValue state_dict() const;
  inline virtual void load_state_dict(const IValue& state);

 protected:
  friend class SequentialLR;
  // The rates of this epoch. A subclass overrides this, or next_lr.
  inline virtual std::vector<double> get_lrs();
  inline virtual double next_lr(double lr, double base, std::size_t group);
  // The rate of last_epoch_ computed from the initial one, if there is such a formula.
  inline virtual std::optional<double> closed_form(double base) const;
  virtual OptionFields fields() { return {}; }  // the options of the schedule, for state_dict
  virtual void undo() { last_epoch_--; }
  inline virtual void start();  // sets the rates of the first epoch; called by constructors of subclasses
  void set_epoch(int64_t epoch);
  std::vector<double> get_current_lrs() const;
  void set_optimizer_lrs(const std::vector<double>& lrs);

  Optimizer& optimizer_;
  std::vector<double> base_lrs_, last_lrs_;
  int64_t last_epoch_;
  unsigned step_count_ = 0;
  bool is_initial_ = false;
};

// Multiplies the rate by gamma every step_size epochs.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  inline std::optional<double> closed_form(double base) const override;
  OptionFields fields() override { return {{"step_size", &step_size_}, {"gamma", &gamma_}}; }

 private:
  int64_t step_size_;
  double gamma_;
};

// Multiplies the rate by gamma at each milestone.
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, const std::vector<int64_t>& milestones, double gamma = 0.1,
              int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  inline std::optional<double> closed_form(double base) const override;
  OptionFields fields() override { return {{"gamma", &gamma_}}; }

 private:
  std::map<int64_t, int64_t> milestones_;  // how often each was given
  double gamma_;
};

// Multiplies the rate by `factor` for total_iters epochs, then restores it.
class ConstantLR : public LRScheduler {
 public:
  explicit ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  inline std::optional<double> closed_form(double base) const override;
  OptionFields fields() override { return {{"factor", &factor_}, {"total_iters", &total_iters_}}; }

 private:
  double factor_;
  int64_t total_iters_;
};

// Multiplies the rate by a factor that changes linearly from start_factor to end_factor in total_iters epochs.
class LinearLR : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0,
                    int64_t total_iters = 5, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  inline std::optional<double> closed_form(double base) const override;
  OptionFields fields() override {
    return {{"start_factor", &start_factor_}, {"end_factor", &end_factor_}, {"total_iters", &total_iters_}};
  }

 private:
  double start_factor_, end_factor_;
  int64_t total_iters_;
};

// Multiplies the rate by gamma every epoch.
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  inline std::optional<double> closed_form(double base) const override;
  OptionFields fields() override { return {{"gamma", &gamma_}}; }

 private:
  double gamma_;
};

// Polynomial decay to zero in total_iters epochs.
class PolynomialLR : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1.0, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  inline std::optional<double> closed_form(double base) const override;
  OptionFields fields() override { return {{"total_iters", &total_iters_}, {"power", &power_}}; }

 private:
  int64_t total_iters_;
  double power_;
};

// Cosine annealing from the initial rate to eta_min in T_max epochs, and back.
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0.0, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  inline std::optional<double> closed_form(double base) const override;
  OptionFields fields() override { return {{"T_max", &T_max_}, {"eta_min", &eta_min_}}; }

 private:
  int64_t T_max_;
  double eta_min_;
};

// Cosine annealing to eta_min in T_0 epochs, then a restart; each cycle is T_mult times as long as the one before.
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0.0,
                              int64_t last_epoch = -1);
  inline void step() override;

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  OptionFields fields() override {
    return {{"T_0", &T_0_}, {"T_i", &T_i_}, {"T_mult", &T_mult_}, {"eta_min", &eta_min_}, {"T_cur", &T_cur_}};
  }

 private:
  int64_t T_0_, T_i_, T_mult_, T_cur_;
  double eta_min_;
};

// Up to max_lr and down again, once in total_steps steps; the momentum moves in the opposite direction.
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, double max_lr, int64_t total_steps, double pct_start = 0.3,
             const std::string& anneal_strategy = "cos", bool cycle_momentum = true, double base_momentum = 0.85,
             double max_momentum = 0.95, double div_factor = 25.0, double final_div_factor = 1e4,
             bool three_phase = false, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  OptionFields fields() override { return {{"total_steps", &total_steps_}, {"cycle_momentum", &cycle_momentum_}}; }

 private:
  struct Phase {
    double end_step;
    const char *start_lr, *end_lr, *start_momentum, *end_momentum;  // names in the group's extra()
  };
  double anneal(double start, double end, double part) const;
  int64_t total_steps_;
  std::vector<Phase> phases_;
  bool cosine_, cycle_momentum_;
};

// The initial rate times function(epoch); one function for all groups, or one for each.
class LambdaLR : public LRScheduler {
 public:
  using Function = std::function<double(int64_t)>;
  LambdaLR(Optimizer& optimizer, Function function, int64_t last_epoch = -1);
  LambdaLR(Optimizer& optimizer, std::vector<Function> functions, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;
  std::vector<Function> functions_;
};
// The previous rate times function(epoch).
class MultiplicativeLR : public LRScheduler {
 public:
  using Function = std::function<double(int64_t)>;
  MultiplicativeLR(Optimizer& optimizer, Function function, int64_t last_epoch = -1);

 protected:
  inline double next_lr(double lr, double base, std::size_t group) override;

 private:
  Function function_;
};

// Several schedules in sequence, switched at milestones.
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones, int64_t last_epoch = -1);
  inline void step() override;
  inline IValue state_dict() const override;
  inline void load_state_dict(const IValue& state) override;

 protected:
  inline void undo() override;
  inline void start() override;

 private:
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  std::vector<int64_t> milestones_;
};

// Several schedules applied together in each epoch.
class ChainedScheduler {
 public:
  explicit ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers)
      : schedulers_(std::move(schedulers)) {}
  void step() {
    for (auto& s : schedulers_) s->step();
  }

 private:
  std::vector<std::shared_ptr<LRScheduler>> schedulers_;
};

// Multiplies the rate by `factor` when a metric has not improved for `patience` epochs; with `verbose` it prints that.
class ReduceLROnPlateauScheduler {
 public:
  enum SchedulerMode { min, max };
  enum ThresholdMode { rel, abs };
  explicit ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, double factor = 0.1,
                                      int64_t patience = 10, double threshold = 1e-4,
                                      ThresholdMode threshold_mode = rel, int64_t cooldown = 0,
                                      std::vector<double> min_lr = {}, double eps = 1e-8, bool verbose = false);
  virtual ~ReduceLROnPlateauScheduler() = default;
  void step(double metric);

 private:
  bool is_better(double a) const;
  Optimizer& optimizer_;
  SchedulerMode mode_;
  double factor_;
  int64_t patience_;
  double threshold_;
  ThresholdMode threshold_mode_;
  int64_t cooldown_, cooldown_counter_ = 0, bad_epochs_ = 0;
  std::vector<double> min_lrs_;
  double eps_, best_;
  bool verbose_;
  int64_t last_epoch_ = 0;
};
using ReduceLROnPlateau = ReduceLROnPlateauScheduler;

}  // namespace undertow::optim

#include <undertow/optim/lr_scheduler_inline.h>
