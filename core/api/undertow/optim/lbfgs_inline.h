// lbfgs_inline.h: the definitions of lbfgs.h. The reference is undertow/optim/lbfgs.py. Results of dot products remain
// tensors of the parameters' dtype, as there: the line search depends on rounded numbers, so different rounding would
// lead to different steps. In a header, so that it costs nothing where it is not used.
#pragma once
#include <undertow/optim/lbfgs.h>

#include <cmath>

#include <undertow/autograd/grad_mode.h>

namespace undertow::optim {

namespace lbfgs_detail {

// A Python number or a one-element tensor, with Python's arithmetic.
class Number {
 public:
  Number(double value = 0) : value_(value) {}
  Number(const core::Tensor& t) : tensor_(t) {}
  explicit Number(const IValue& v) : Number(v.isTensor() ? Number(v.toTensor()) : Number(v.toDouble())) {}
  IValue ivalue() const { return tensor_.defined() ? IValue(tensor_) : IValue(value_); }
  double get() const { return tensor_.defined() ? core::ops::item(tensor_).to_double() : value_; }
  Scalar scalar() const { return tensor_.defined() ? Scalar(core::ops::item(tensor_)) : Scalar(value_); }
  bool is_tensor() const { return tensor_.defined(); }
  const core::Tensor& tensor() const { return tensor_; }

  friend Number operator+(const Number& a, const Number& b) { return combine('+', a, b); }
  friend Number operator-(const Number& a, const Number& b) { return combine('-', a, b); }
  friend Number operator*(const Number& a, const Number& b) { return combine('*', a, b); }
  friend Number operator/(const Number& a, const Number& b) { return combine('/', a, b); }
  Number operator-() const { return is_tensor() ? Number(core::ops::neg(tensor_)) : Number(-value_); }
  friend bool operator<(const Number& a, const Number& b) { return is_less(a, b, /*or_equal=*/false); }
  friend bool operator<=(const Number& a, const Number& b) { return is_less(a, b, /*or_equal=*/true); }
  friend bool operator>(const Number& a, const Number& b) { return b < a; }
  friend bool operator>=(const Number& a, const Number& b) { return b <= a; }
  friend Number abs(const Number& a) {
    return a.is_tensor() ? Number(core::ops::abs(a.tensor_)) : Number(std::fabs(a.value_));
  }
  friend Number sqrt(const Number& a) {
    return a.is_tensor() ? Number(core::ops::sqrt(a.tensor_)) : Number(std::sqrt(a.value_));
  }
  friend Number min(const Number& a, const Number& b) { return b < a ? b : a; }
  friend Number max(const Number& a, const Number& b) { return b > a ? b : a; }

 private:
  static Number combine(char op, const Number& a, const Number& b);
  static bool is_less(const Number& a, const Number& b, bool or_equal);
  double value_ = 0;
  core::Tensor tensor_;
};

[[gnu::noinline]] inline Number Number::combine(char op, const Number& a, const Number& b) {
  if (a.is_tensor()) {
    if (b.is_tensor())
      return op == '+'   ? core::ops::add(a.tensor_, b.tensor_)
             : op == '-' ? core::ops::sub(a.tensor_, b.tensor_)
             : op == '*' ? core::ops::mul(a.tensor_, b.tensor_)
                         : core::ops::div(a.tensor_, b.tensor_);
    core::Scalar n(b.value_);
    return op == '+'   ? core::ops::add(a.tensor_, n)
           : op == '-' ? core::ops::sub(a.tensor_, n)
           : op == '*' ? core::ops::mul(a.tensor_, n)
                       : core::ops::div(a.tensor_, n);
  }
  if (b.is_tensor()) {
    core::Scalar n(a.value_);
    return op == '+'   ? core::ops::add(b.tensor_, n)
           : op == '-' ? core::ops::rsub(b.tensor_, n)
           : op == '*' ? core::ops::mul(b.tensor_, n)
                       : core::ops::mul(core::ops::reciprocal(b.tensor_), n);
  }
  double x = a.value_, y = b.value_;
  return op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y;
}

// Numbers are compared in the dtype of the tensor among them.
[[gnu::noinline]] inline bool Number::is_less(const Number& a, const Number& b, bool or_equal) {
  if (!a.is_tensor() && !b.is_tensor()) return or_equal ? a.value_ <= b.value_ : a.value_ < b.value_;
  core::Tensor answer;
  if (a.is_tensor() && b.is_tensor())
    answer = or_equal ? core::ops::le(a.tensor_, b.tensor_) : core::ops::lt(a.tensor_, b.tensor_);
  else if (a.is_tensor())
    answer =
        or_equal ? core::ops::le(a.tensor_, core::Scalar(b.value_)) : core::ops::lt(a.tensor_, core::Scalar(b.value_));
  else
    answer =
        or_equal ? core::ops::ge(b.tensor_, core::Scalar(a.value_)) : core::ops::gt(b.tensor_, core::Scalar(a.value_));
  return core::ops::item(answer).to<bool>();
}

inline double largest(const core::Tensor& t) { return core::ops::item(core::ops::max(core::ops::abs(t))).to_double(); }
inline Number product_of(const core::Tensor& a, const core::Tensor& b) { return core::ops::dot(a, b); }
inline core::Tensor times(const core::Tensor& t, const Number& n) {
  return n.is_tensor() ? core::ops::mul(t, n.tensor()) : core::ops::mul(t, n.scalar());
}

// The minimizer, within bounds, of the cubic with these values and slopes at two points.
inline Number cubic_minimum(const Number& x1, const Number& f1, const Number& g1, const Number& x2, const Number& f2,
                            const Number& g2, const Number& low, const Number& high) {
  Number d1 = g1 + g2 - 3.0 * (f1 - f2) / (x1 - x2);
  Number square = d1 * d1 - g1 * g2;
  if (square < 0.0) return (low + high) / 2.0;
  Number d2 = sqrt(square);
  Number at = x1 <= x2 ? x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2.0 * d2))
                       : x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2.0 * d2));
  return min(max(at, low), high);
}

struct Point {
  Number t;
  double f;
  core::Tensor g;
  Number slope;
};
using Evaluate = std::function<std::pair<double, Tensor>(const Number& t)>;

// Finds a step along d that satisfies the strong Wolfe conditions; counts the evaluations.
inline Point strong_wolfe(const Evaluate& evaluate, Number t, const core::Tensor& d, double f,
                          const core::Tensor& gradient, const Number& slope, int64_t most, int64_t& evaluations) {
  constexpr double c1 = 1e-4, c2 = 0.9, tolerance = 1e-9;
  Number d_size = core::ops::max(core::ops::abs(d));
  Point start{0.0, f, core::ops::clone(gradient), slope};
  auto evaluated = [&](const Number& at) {
    auto [value, grad] = evaluate(at);
    evaluations++;
    return Point{at, value, grad, product_of(grad, d)};
  };
  Point now = evaluated(t), before = start;
  bool done = false;
  int64_t tried = 0;
  std::vector<Point> bracket;
  while (tried < most) {  // first bracket a suitable step
    if (Number(now.f) > f + c1 * now.t * slope || (tried > 1 && now.f >= before.f)) {
      bracket = {before, now};
      break;
    }
    if (abs(now.slope) <= -c2 * slope) {
      bracket = {now};
      done = true;
      break;
    }
    if (now.slope >= 0.0) {
      bracket = {before, now};
      break;
    }
    Number least = now.t + 0.01 * (now.t - before.t), furthest = now.t * 10.0;
    t = cubic_minimum(before.t, before.f, before.slope, now.t, now.f, now.slope, least, furthest);
    before = now;
    now = evaluated(t);
    tried++;
  }
  if (tried == most) bracket = {start, now};
  bool slow = false;
  size_t low = bracket.front().f <= bracket.back().f ? 0 : 1, high = low == 0 ? bracket.size() - 1 : 0;
  while (!done && tried < most) {  // then narrow the bracket
    if (abs(bracket[1].t - bracket[0].t) * d_size < tolerance) break;
    Number left = min(bracket[0].t, bracket[1].t), right = max(bracket[0].t, bracket[1].t);
    t = cubic_minimum(bracket[0].t, bracket[0].f, bracket[0].slope, bracket[1].t, bracket[1].f, bracket[1].slope, left,
                      right);
    Number margin = 0.1 * (right - left);
    if (min(right - t, t - left) < margin) {
      if (slow || t >= right || t <= left) {
        t = abs(t - right) < abs(t - left) ? right - margin : left + margin;
        slow = false;
      } else {
        slow = true;
      }
    } else {
      slow = false;
    }
    Point point = evaluated(t);
    tried++;
    if (Number(point.f) > f + c1 * t * slope || point.f >= bracket[low].f) {
      bracket[high] = point;
      low = bracket[0].f <= bracket[1].f ? 0 : 1;
      high = 1 - low;
    } else {
      if (abs(point.slope) <= -c2 * slope)
        done = true;
      else if (point.slope * (bracket[high].t - bracket[low].t) >= 0.0)
        bracket[high] = bracket[low];
      bracket[low] = point;
    }
  }
  return bracket[low];
}

// Two-loop recursion: the approximate inverse Hessian times the negative gradient. Stores its factors in `factors`.
inline core::Tensor direction(const core::Tensor& grad, const IValue::List& dirs, const IValue::List& steps,
                              const IValue::List& ro, const Number& diagonal, IValue::List& factors) {
  core::Tensor q = core::ops::neg(grad);
  for (size_t i = dirs.size(); i-- > 0;) {
    Number alpha = product_of(steps[i].toTensor(), q) * Number(ro[i]);
    factors[i] = alpha.ivalue();
    core::ops::add_(q, dirs[i].toTensor(), (-alpha).scalar());
  }
  core::Tensor r = times(q, diagonal);
  for (size_t i = 0; i < dirs.size(); i++) {
    Number alpha = Number(factors[i]) - product_of(dirs[i].toTensor(), r) * Number(ro[i]);
    core::ops::add_(r, steps[i].toTensor(), alpha.scalar());
  }
  return r;
}

}  // namespace lbfgs_detail

inline OptionFields LBFGSOptions::fields() {
  return {{"lr", &lr_},
          {"max_iter", &max_iter_},
          {"max_eval", &max_eval_},
          {"tolerance_grad", &tolerance_grad_},
          {"tolerance_change", &tolerance_change_},
          {"history_size", &history_size_},
          {"line_search_fn", &line_search_fn_}};
}

inline LBFGS::LBFGS(const std::vector<OptimizerParamGroup>& groups, const LBFGSOptions& defaults)
    : Optimizer(groups, std::make_unique<LBFGSOptions>(defaults)) {
  UT_CHECK_VALUE(groups_.size() == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
  auto& o = static_cast<LBFGSOptions&>(groups_[0].options());
  UT_CHECK_VALUE(o.lr() >= 0, "Invalid learning rate: ", o.lr());
  if (!o.max_eval()) o.max_eval(o.max_iter() * 5 / 4);
}

inline Tensor LBFGS::gather_flat_grad() const {
  std::vector<core::Tensor> flat;
  for (const Tensor& p : parameters()) {
    core::Tensor grad = p.grad().defined() ? core::Tensor(p.grad()) : core::ops::zeros_like(p);
    if (grad.is_complex()) grad = core::ops::view_as_real(grad);
    flat.push_back(core::ops::reshape(grad, core::Dims{-1}));
  }
  return core::ops::cat(flat);
}

inline void LBFGS::add(const IValue& t, const Tensor& along) const {
  int64_t at = 0;
  for (const Tensor& p : parameters()) {
    core::Tensor flat = p.is_complex() ? core::ops::view_as_real(p) : core::Tensor(p);
    core::ops::add_(flat, core::ops::view_as(core::ops::narrow(along, 0, at, flat.numel()), flat),
                    lbfgs_detail::Number(t).scalar());
    at += flat.numel();
  }
}

inline std::pair<double, Tensor> LBFGS::evaluate(const LossClosure& closure, const std::vector<Tensor>& x,
                                                 const IValue& t, const Tensor& along) const {
  add(t, along);
  double loss = core::ops::item(closure()).to_double();
  Tensor grad = gather_flat_grad();
  for (size_t k = 0; k < x.size(); k++) core::ops::copy_(parameters()[k], x[k]);
  return {loss, grad};
}

inline Tensor LBFGS::step(LossClosure given) {
  UT_CHECK(given, "LBFGS requires a closure function that computes the loss and its gradients");
  NoGradGuard no_grad;
  LossClosure closure = [&] {
    AutoGradMode enabled(true);
    return given();
  };
  const auto& o = static_cast<const LBFGSOptions&>(groups_[0].options());
  const int64_t max_eval = o.max_eval().value_or(o.max_iter() * 5 / 4);
  OptimizerParamState& state = make_state(parameters()[0]);
  auto counter = [&](const char* name) { return state.find(name) ? state.find(name)->toInt() : 0; };
  int64_t func_evals = counter("func_evals"), n_iter = counter("n_iter");
  state.set("func_evals", func_evals);
  state.set("n_iter", n_iter);

  Tensor original = closure();
  double loss = core::ops::item(original).to_double();
  int64_t evaluations = 1;
  state.set("func_evals", ++func_evals);
  core::Tensor grad = gather_flat_grad();
  if (lbfgs_detail::largest(grad) <= o.tolerance_grad()) return original;

  auto kept = [&](const char* name) { return state.find(name) ? *state.find(name) : IValue(); };
  auto list = [&](const char* name) { return state.find(name) ? state.find(name)->toListRef() : IValue::List(); };
  core::Tensor d, previous;
  if (state.find("d")) d = state.tensor("d");
  if (state.find("prev_flat_grad")) previous = state.tensor("prev_flat_grad");
  lbfgs_detail::Number t = state.find("t") ? lbfgs_detail::Number(kept("t")) : lbfgs_detail::Number(o.lr());
  lbfgs_detail::Number diagonal =
      state.find("H_diag") ? lbfgs_detail::Number(kept("H_diag")) : lbfgs_detail::Number(1.0);
  IValue::List old_dirs = list("old_dirs"), old_steps = list("old_stps"), ro = list("ro"), factors = list("al");
  double previous_loss = loss;
  for (int64_t iteration = 1; iteration <= o.max_iter(); iteration++) {
    if (++n_iter == 1) {
      d = core::ops::neg(grad);
      old_dirs.clear();
      old_steps.clear();
      ro.clear();
      diagonal = 1.0;
    } else {
      core::Tensor y = core::ops::sub(grad, previous), s = lbfgs_detail::times(d, t);
      lbfgs_detail::Number ys = lbfgs_detail::product_of(y, s);
      if (ys > 1e-10) {
        if (static_cast<int64_t>(old_dirs.size()) == o.history_size())
          for (IValue::List* history : {&old_dirs, &old_steps, &ro}) history->erase(history->begin());
        old_dirs.emplace_back(y);
        old_steps.emplace_back(s);
        ro.push_back((1.0 / ys).ivalue());
        diagonal = ys / lbfgs_detail::product_of(y, y);
      }
      if (factors.empty()) factors.resize(static_cast<size_t>(o.history_size()));
      d = lbfgs_detail::direction(grad, old_dirs, old_steps, ro, diagonal, factors);
    }
    previous = core::ops::clone(grad);
    previous_loss = loss;
    t = n_iter == 1 ? min(1.0, 1.0 / lbfgs_detail::Number(core::ops::sum(core::ops::abs(grad)))) * o.lr()
                    : lbfgs_detail::Number(o.lr());
    lbfgs_detail::Number slope = lbfgs_detail::product_of(grad, d);
    if (slope > -o.tolerance_change()) break;
    int64_t used = 0;
    bool converged = false;
    if (o.line_search_fn()) {
      UT_CHECK(*o.line_search_fn() == "strong_wolfe", "only 'strong_wolfe' is supported");
      std::vector<Tensor> x;
      for (const Tensor& p : parameters()) x.push_back(core::ops::clone(p));
      lbfgs_detail::Evaluate at = [&](const lbfgs_detail::Number& step) {
        return evaluate(closure, x, step.ivalue(), d);
      };
      lbfgs_detail::Point found =
          lbfgs_detail::strong_wolfe(at, t, d, loss, grad, slope, std::min<int64_t>(25, max_eval - evaluations), used);
      loss = found.f;
      grad = found.g;
      t = found.t;
      add(t.ivalue(), d);
      converged = lbfgs_detail::largest(grad) <= o.tolerance_grad();
    } else {
      add(t.ivalue(), d);
      if (iteration != o.max_iter()) {
        loss = core::ops::item(closure()).to_double();
        grad = gather_flat_grad();
        converged = lbfgs_detail::largest(grad) <= o.tolerance_grad();
        used = 1;
      }
    }
    evaluations += used;
    func_evals += used;
    if (iteration == o.max_iter() || evaluations >= max_eval || converged) break;
    if (lbfgs_detail::largest(lbfgs_detail::times(d, t)) <= o.tolerance_change() ||
        std::fabs(loss - previous_loss) < o.tolerance_change())
      break;
  }
  state.set("func_evals", func_evals);
  state.set("n_iter", n_iter);
  if (!factors.empty()) state.set("al", IValue(std::move(factors)));
  state.set("d", IValue(d));
  state.set("t", t.ivalue());
  state.set("old_dirs", IValue(std::move(old_dirs)));
  state.set("old_stps", IValue(std::move(old_steps)));
  state.set("ro", IValue(std::move(ro)));
  state.set("H_diag", diagonal.ivalue());
  state.set("prev_flat_grad", IValue(previous));
  state.set("prev_loss", previous_loss);
  return original;
}

}  // namespace undertow::optim
