// optimizers.h: SGD, Adam, AdamW, RMSprop, Adagrad and their options. The updates are those of Python, bit for bit.
#pragma once
#include <undertow/optim/optimizer.h>

namespace undertow::optim {

struct SGDOptions : public OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr = 1e-3) : lr_(lr) {}
  UNDERTOW_ARG(double, lr);
  UNDERTOW_ARG(double, momentum) = 0;
  UNDERTOW_ARG(double, dampening) = 0;
  UNDERTOW_ARG(double, weight_decay) = 0;
  UNDERTOW_ARG(bool, nesterov) = false;
  UNDERTOW_ARG(bool, maximize) = false;

 public:
  OptionFields fields() override;
};
struct AdamOptions : public OptimizerCloneableOptions<AdamOptions> {
  using betas_t = std::tuple<double, double>;
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  UNDERTOW_ARG(double, lr);
  UNDERTOW_ARG(betas_t, betas) = { 0.9, 0.999 };
  UNDERTOW_ARG(double, eps) = 1e-8;
  UNDERTOW_ARG(double, weight_decay) = 0;
  UNDERTOW_ARG(bool, amsgrad) = false;
  UNDERTOW_ARG(bool, maximize) = false;
  UNDERTOW_ARG(bool, decoupled_weight_decay) = false;

 public:
  OptionFields fields() override;
};
struct AdamWOptions : public OptimizerCloneableOptions<AdamWOptions> {
  using betas_t = std::tuple<double, double>;
  AdamWOptions(double lr = 1e-3) : lr_(lr) {}
  UNDERTOW_ARG(double, lr);
  UNDERTOW_ARG(betas_t, betas) = { 0.9, 0.999 };
  UNDERTOW_ARG(double, eps) = 1e-8;
  UNDERTOW_ARG(double, weight_decay) = 1e-2;
  UNDERTOW_ARG(bool, amsgrad) = false;
  UNDERTOW_ARG(bool, maximize) = false;

 public:
  OptionFields fields() override;
};
struct RMSpropOptions : public OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  UNDERTOW_ARG(double, lr);
  UNDERTOW_ARG(double, alpha) = 0.99;
  UNDERTOW_ARG(double, eps) = 1e-8;
  UNDERTOW_ARG(double, weight_decay) = 0;
  UNDERTOW_ARG(double, momentum) = 0;
  UNDERTOW_ARG(bool, centered) = false;
  UNDERTOW_ARG(bool, maximize) = false;

 public:
  OptionFields fields() override;
};
struct AdagradOptions : public OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  UNDERTOW_ARG(double, lr);
  UNDERTOW_ARG(double, lr_decay) = 0;
  UNDERTOW_ARG(double, weight_decay) = 0;
  UNDERTOW_ARG(double, initial_accumulator_value) = 0;
  UNDERTOW_ARG(double, eps) = 1e-10;
  UNDERTOW_ARG(bool, maximize) = false;

 public:
  OptionFields fields() override;
};

#define UT_OPTIMIZER(Name)                                                                           \
 public:                                                                                             \
  explicit Name(const std::vector<OptimizerParamGroup>& groups, const Name##Options& defaults = {}); \
  explicit Name(std::vector<Tensor> params, const Name##Options& defaults = {})                      \
      : Name(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, defaults) {}  \
                                                                                                     \
 protected:                                                                                          \
  const char* algorithm() const override;                                                            \
  std::vector<const char*> states(const OptimizerOptions& options) const override;                   \
  std::vector<double> constants(const OptimizerOptions& options, double step, bool is_new) const override

// p -= lr * gradient, or with momentum a running sum of gradients.
class SGD : public ElementwiseOptimizer {
  UT_OPTIMIZER(SGD);
  bool counts_steps() const override { return false; }
  void step_sparse(const Tensor& p, const Tensor& grad, const OptimizerOptions& options) override;
};
// The running mean of the gradient divided by the square root of its running square.
class Adam : public ElementwiseOptimizer {
  UT_OPTIMIZER(Adam);
};
// Adam with decoupled weight decay, which shrinks the parameters directly.
class AdamW : public ElementwiseOptimizer {
  UT_OPTIMIZER(AdamW);
};
// The gradient divided by the square root of its running mean square.
class RMSprop : public ElementwiseOptimizer {
  UT_OPTIMIZER(RMSprop);
};
// The gradient divided by the square root of the sum of its squares.
class Adagrad : public ElementwiseOptimizer {
  UT_OPTIMIZER(Adagrad);
  double initial_value(const OptimizerOptions& options) const override;
};
#undef UT_OPTIMIZER

}  // namespace undertow::optim
