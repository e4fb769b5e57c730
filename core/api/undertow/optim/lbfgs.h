// lbfgs.h: L-BFGS, with a strong-Wolfe line search.
#pragma once
#include <undertow/optim/optimizer.h>

namespace undertow::optim {

struct LBFGSOptions : public OptimizerCloneableOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1) : lr_(lr) {}
  UNDERTOW_ARG(double, lr);
  UNDERTOW_ARG(int64_t, max_iter) = 20;
  UNDERTOW_ARG(std::optional<int64_t>, max_eval);  // none: 5/4 of max_iter
  UNDERTOW_ARG(double, tolerance_grad) = 1e-7;
  UNDERTOW_ARG(double, tolerance_change) = 1e-9;
  UNDERTOW_ARG(int64_t, history_size) = 100;
  UNDERTOW_ARG(std::optional<std::string>, line_search_fn);  // none or "strong_wolfe"

 public:
  inline OptionFields fields() override;
};

// Limited-memory BFGS over all parameters at once. `step` needs a closure that computes the loss and its gradients.
class LBFGS : public Optimizer {
 public:
  explicit LBFGS(const std::vector<OptimizerParamGroup>& groups, const LBFGSOptions& defaults = {});
  explicit LBFGS(std::vector<Tensor> params, const LBFGSOptions& defaults = {})
      : LBFGS(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, defaults) {}
  inline Tensor step(LossClosure closure) override;

 protected:
  bool counts_steps() const override { return false; }

 private:
  Tensor gather_flat_grad() const;
  void add(const IValue& t, const Tensor& direction) const;
  std::pair<double, Tensor> evaluate(const LossClosure& closure, const std::vector<Tensor>& x, const IValue& t,
                                     const Tensor& direction) const;
};

}  // namespace undertow::optim

#include <undertow/optim/lbfgs_inline.h>
