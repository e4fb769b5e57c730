// normalization.cpp: derivatives of normalisations, first and second, and compositions of them.
// build: small
#include "core/autograd/formulas/normalization.h"

#include <limits>

#include "core/autograd/formulas/formulas.h"
#include "core/tensor/layout.h"

// Note [Derivatives Of Normalisation]
// With x^ = (x - mean(x)) r, r = (var(x) + eps)^(-1/2), means over the elements that share a statistic, and h = w dy,
// the gradients are
//   dx = P(h),  dw = sum(dy x^),  db = sum(dy),   P(v) = r (v - mean(v) - x^ mean(v x^)),
// and P is also the derivative of x^ with respect to x. So for cotangents (v, u, z) of (dx, dw, db),
// L = <v, dx> + <u, dw> + <z, db> has the gradients
//   in dy: w P(v) + u x^ + z        in w: sum(dy P(v))
//   in x:  P(dy u - r (b v + a h)) - r^2 x^ (mean(v h) - mean(v) mean(h) - a b),   a = mean(v x^), b = mean(h x^).
// The last is symmetric in v, because it is a second derivative, so it also gives the tangent of dx. Without a mean
// (root mean square) the terms in mean(v) and mean(h) vanish. With fixed statistics P(v) = r v, and only P(dy u)
// remains of the last. Mean and r are recomputed from x, so that the third derivative is correct as well.

namespace undertow::core::ops {

namespace {

// The shapes and dimensions of a normalisation.
struct Plan {
  Dims shape;         // of the input
  Dims over;          // dimensions that share a statistic
  Dims weight_shape;  // of the weight, to broadcast against the input
  Dims weight_over;   // dimensions that share a weight
  double eps;
  bool centred = true;
};

Tensor wide(const Tensor& t) { return t.defined() && is_reduced_float(t.dtype()) ? to_dtype(t, DType::Float32) : t; }
Tensor reshaped(const Tensor& t, const Dims& shape) { return t.defined() ? reshape(wide(t), shape) : t; }
Tensor times(const Tensor& t, const Tensor& w) { return w.defined() ? t * w : t; }

class Normal {
 public:
  Normal(const Plan& plan, const Tensor& x) : plan_(plan) {
    Tensor centre = plan.centred ? x - over(x) : x;
    rstd_ = rsqrt(over(centre * centre) + Scalar(plan.eps));
    hat_ = centre * rstd_;
  }
  // With statistics that do not depend on x.
  Normal(const Plan& plan, const Tensor& x, const Tensor& mean, const Tensor& var) : plan_(plan), fixed_(true) {
    rstd_ = rsqrt(reshaped(var, plan.weight_shape) + Scalar(plan.eps));
    hat_ = (x - reshaped(mean, plan.weight_shape)) * rstd_;
  }
  const Tensor& hat() const { return hat_; }
  Tensor project(const Tensor& v) const {
    if (fixed_) return v * rstd_;
    Tensor rest = plan_.centred ? v - over(v) : v;
    return rstd_ * (rest - hat_ * over(v * hat_));
  }
  // The second derivative of <h, x^> with respect to x, applied to v; undefined for fixed statistics.
  Tensor second_derivative(const Tensor& v, const Tensor& h) const {
    if (fixed_) return {};
    Tensor a = over(v * hat_), b = over(h * hat_), covariance = over(v * h) - a * b;
    if (plan_.centred) covariance = covariance - over(v) * over(h);
    return -project(rstd_ * (b * v + a * h)) - rstd_ * rstd_ * hat_ * covariance;
  }

 private:
  Tensor over(const Tensor& t) const { return mean(t, IntSpan(plan_.over), true, std::nullopt); }
  const Plan& plan_;
  Tensor rstd_, hat_;
  bool fixed_ = false;
};

Tensor to_weight(const Tensor& t, const Plan& plan, IntSpan sizes) {
  Tensor s = plan.weight_over.empty() ? t : sum(t, IntSpan(plan.weight_over), false, std::nullopt);
  return reshape(s, sizes);
}

Tensor jvp(const Plan& plan, const Normal& n, const Tensor& input_t, const Tensor& weight_t, const Tensor& bias_t,
           const Tensor& input, const Tensor& weight) {
  Tensor out;
  if (input_t.defined()) out = times(n.project(reshaped(input_t, plan.shape)), reshaped(weight, plan.weight_shape));
  if (weight_t.defined()) out = self_t_plus(n.hat() * reshaped(weight_t, plan.weight_shape), out);
  if (bias_t.defined()) out = self_t_plus(expand(reshaped(bias_t, plan.weight_shape), plan.shape, false), out);
  return reshape(out, input.sizes());
}

// See Note [Derivatives Of Normalisation].
ThreeTensors second(const Plan& plan, const Normal& n, std::span<Tensor> grads, const Tensor& dy, const Tensor& input,
                    const Tensor& weight) {
  Tensor v = reshaped(grads[0], plan.shape), u = reshaped(grads[1], plan.weight_shape),
         z = grads.size() > 2 ? reshaped(grads[2], plan.weight_shape) : Tensor();
  Tensor g = reshaped(dy, plan.shape), w = reshaped(weight, plan.weight_shape), to_dy, to_x, to_w;
  if (v.defined()) {
    Tensor p = n.project(v);
    to_dy = times(p, w);
    to_x = n.second_derivative(v, times(g, w));
    if (weight.defined()) to_w = to_weight(g * p, plan, weight.sizes());
  }
  if (u.defined()) {
    to_dy = self_t_plus(n.hat() * u, to_dy);
    to_x = self_t_plus(n.project(g * u), to_x);
  }
  if (z.defined()) to_dy = self_t_plus(expand(z, plan.shape, false), to_dy);
  if (to_dy.defined()) to_dy = reshape(to_dy, dy.sizes());
  if (to_x.defined()) to_x = reshape(to_x, input.sizes());
  return {to_dy, to_x, to_w};
}

ThreeTensors backward_jvp(const Plan& plan, const Normal& n, const Tensor& dy_t, const Tensor& input_t,
                          const Tensor& weight_t, const Tensor& dy, const Tensor& input, const Tensor& weight,
                          IntSpan weight_sizes, int64_t mask) {
  Tensor g_t = reshaped(dy_t, plan.shape), x_t = reshaped(input_t, plan.shape),
         w_t = reshaped(weight_t, plan.weight_shape);
  Tensor g = reshaped(dy, plan.shape), w = reshaped(weight, plan.weight_shape), dx, dw, db;
  if (mask & 1) {
    if (g_t.defined()) dx = n.project(times(g_t, w));
    if (w_t.defined()) dx = self_t_plus(n.project(g * w_t), dx);
    if (x_t.defined()) {
      Tensor curvature = n.second_derivative(x_t, times(g, w));
      if (curvature.defined()) dx = self_t_plus(curvature, dx);
    }
    if (dx.defined()) dx = reshape(dx, input.sizes());
  }
  if (mask & 2) {
    if (g_t.defined()) dw = g_t * n.hat();
    if (x_t.defined()) dw = self_t_plus(g * n.project(x_t), dw);
    if (dw.defined()) dw = to_weight(dw, plan, weight_sizes);
  }
  if (mask & 4 && g_t.defined()) db = to_weight(g_t, plan, weight_sizes);
  return {dx, dw, db};
}

Plan lines_plan(const Tensor& input, IntSpan shape, double eps, bool centred) {
  Plan p{Dims(input.sizes()), {}, Dims(shape), {}, eps, centred};
  int64_t lead = input.dim() - static_cast<int64_t>(shape.size());
  for (int64_t d = 0; d < input.dim(); d++) (d < lead ? p.weight_over : p.over).push_back(d);
  return p;
}
Plan batch_plan(const Tensor& input, double eps) {
  Plan p{Dims(input.sizes()), {}, {}, {}, eps};
  for (int64_t d = 0; d < input.dim(); d++) {
    p.weight_shape.push_back(d == 1 ? input.size(1) : 1);
    if (d != 1) p.over.push_back(d);
  }
  if (input.dim() < 2) p.weight_shape = {0};  // no channels, so no elements
  p.weight_over = p.over;
  return p;
}
Plan group_plan(int64_t n, int64_t c, int64_t inner, int64_t group, double eps) {
  return {Dims{n, group, c / group, inner}, Dims{2, 3}, Dims{1, group, c / group, 1}, Dims{0, 3}, eps};
}
Normal batch_normal(const Plan& plan, const Tensor& input, const Tensor& mean, const Tensor& var, bool training) {
  return training ? Normal(plan, wide(input)) : Normal(plan, wide(input), mean, var);
}
double rms_eps(const Tensor& input, std::optional<double> eps) {
  bool is_double = input.dtype() == DType::Float64 || input.dtype() == DType::Complex128;
  return eps.value_or(is_double ? std::numeric_limits<double>::epsilon()
                                : static_cast<double>(std::numeric_limits<float>::epsilon()));
}
// Drops the gradients that are not wanted.
ThreeTensors keep_wanted(ThreeTensors t, int64_t wanted) {
  if (!(wanted & 1)) std::get<0>(t).reset();
  if (!(wanted & 2)) std::get<1>(t).reset();
  if (!(wanted & 4)) std::get<2>(t).reset();
  return t;
}

}  // namespace

ThreeTensors layer_norm_grads(const Tensor& dy, const Tensor& input, IntSpan shape, const Tensor& mean,
                              const Tensor& rstd, const Tensor& weight, double eps, int64_t wanted) {
  return keep_wanted(_layer_norm_backward(dy, input, shape, mean, rstd, weight, eps, wanted), wanted);
}
Tensor layer_norm_jvp(const Tensor& input_t, const Tensor& weight_t, const Tensor& bias_t, const Tensor& input,
                      IntSpan shape, const Tensor& weight, double eps) {
  Plan plan = lines_plan(input, shape, eps, true);
  return jvp(plan, Normal(plan, wide(input)), input_t, weight_t, bias_t, input, weight);
}
ThreeTensors layer_norm_double(std::span<Tensor> grads, const Tensor& dy, const Tensor& input, IntSpan shape,
                               const Tensor& weight, double eps) {
  Plan plan = lines_plan(input, shape, eps, true);
  return second(plan, Normal(plan, wide(input)), grads, dy, input, weight);
}
ThreeTensors layer_norm_backward_jvp(const Tensor& dy_t, const Tensor& input_t, const Tensor& weight_t,
                                     const Tensor& dy, const Tensor& input, IntSpan shape, const Tensor& weight,
                                     double eps, int64_t mask) {
  Plan plan = lines_plan(input, shape, eps, true);
  return backward_jvp(plan, Normal(plan, wide(input)), dy_t, input_t, weight_t, dy, input, weight, shape, mask);
}

TwoTensors rms_norm_grads(const Tensor& dy, const Tensor& input, IntSpan shape, const Tensor& rstd,
                          const Tensor& weight, std::optional<double> eps, int64_t wanted) {
  auto [dx, dw] = _rms_norm_backward(dy, input, shape, rstd, weight, eps, wanted);
  return {wanted & 1 ? dx : Tensor(), wanted & 2 ? dw : Tensor()};
}
Tensor rms_norm_jvp(const Tensor& input_t, const Tensor& weight_t, const Tensor& input, IntSpan shape,
                    const Tensor& weight, std::optional<double> eps) {
  Plan plan = lines_plan(input, shape, rms_eps(input, eps), false);
  return jvp(plan, Normal(plan, wide(input)), input_t, weight_t, {}, input, weight);
}
ThreeTensors rms_norm_double(std::span<Tensor> grads, const Tensor& dy, const Tensor& input, IntSpan shape,
                             const Tensor& weight, std::optional<double> eps) {
  Plan plan = lines_plan(input, shape, rms_eps(input, eps), false);
  return second(plan, Normal(plan, wide(input)), grads, dy, input, weight);
}
TwoTensors rms_norm_backward_jvp(const Tensor& dy_t, const Tensor& input_t, const Tensor& weight_t, const Tensor& dy,
                                 const Tensor& input, IntSpan shape, const Tensor& weight, std::optional<double> eps,
                                 int64_t mask) {
  Plan plan = lines_plan(input, shape, rms_eps(input, eps), false);
  auto [dx, dw, none] =
      backward_jvp(plan, Normal(plan, wide(input)), dy_t, input_t, weight_t, dy, input, weight, shape, mask & 3);
  return {dx, dw};
}
Tensor rms_norm_composite(const Tensor& input, IntSpan shape, const Tensor& weight, std::optional<double> eps) {
  if (!input.is_complex()) return std::get<0>(_fused_rms_norm(input, shape, weight, eps));
  Plan plan = lines_plan(input, shape, rms_eps(input, eps), false);
  UT_CHECK(!shape.empty() && shape.size() <= input.sizes().size() && same(input.sizes().last(shape.size()), shape),
           "Given normalized_shape=", ShapeText{shape}, ", expected input with shape [*", ShapeText{shape},
           "], but got input of size", ShapeText{input.sizes()});
  Tensor square = mean(input * input, IntSpan(plan.over), true, std::nullopt);
  return times(input * rsqrt(square + Scalar(plan.eps)), weight);
}

ThreeTensors batch_norm_grads(const Tensor& dy, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
                              const Tensor& running_var, const Tensor& mean, const Tensor& rstd, bool training,
                              double eps, int64_t wanted) {
  return keep_wanted(
      _batch_norm_backward(dy, input, weight, running_mean, running_var, mean, rstd, training, eps, wanted), wanted);
}
Tensor batch_norm_jvp(const Tensor& input_t, const Tensor& weight_t, const Tensor& bias_t, const Tensor& input,
                      const Tensor& weight, const Tensor& mean, const Tensor& var, bool training, double eps) {
  Plan plan = batch_plan(input, eps);
  return jvp(plan, batch_normal(plan, input, mean, var, training), input_t, weight_t, bias_t, input, weight);
}
ThreeTensors batch_norm_double(std::span<Tensor> grads, const Tensor& dy, const Tensor& input, const Tensor& weight,
                               const Tensor& mean, const Tensor& var, bool training, double eps) {
  Plan plan = batch_plan(input, eps);
  return second(plan, batch_normal(plan, input, mean, var, training), grads, dy, input, weight);
}
ThreeTensors batch_norm_backward_jvp(const Tensor& dy_t, const Tensor& input_t, const Tensor& weight_t,
                                     const Tensor& dy, const Tensor& input, const Tensor& weight, const Tensor& mean,
                                     const Tensor& var, bool training, double eps, int64_t mask) {
  Plan plan = batch_plan(input, eps);
  Dims channels{input.dim() > 1 ? input.size(1) : 0};
  return backward_jvp(plan, batch_normal(plan, input, mean, var, training), dy_t, input_t, weight_t, dy, input, weight,
                      channels, mask);
}

// Instance normalisation is batch normalisation of one sample, with all samples as further channels.
Tensor instance_norm_composite(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                               double momentum, double eps) {
  UT_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()),
           "Expected running_mean and running_var to be defined when use_input_stats is false");
  UT_CHECK(input.dim() > 1, "instance_norm: expected an input of a batch and channels, got ", input.dim(),
           " dimensions");
  int64_t batch = input.size(0), channels = input.size(1);
  Dims folded(input.sizes());
  folded[0] = 1;
  folded[1] = batch * channels;
  const int64_t times_batch[1] = {batch};
  auto repeated = [&](const Tensor& t) { return t.defined() ? repeat(t, IntSpan(times_batch, 1)) : t; };
  Tensor mean_of_all = repeated(running_mean), var_of_all = repeated(running_var);
  Tensor out =
      std::get<0>(native_batch_norm(view(contiguous(input, MemoryFormat::Contiguous), folded), repeated(weight),
                                    repeated(bias), mean_of_all, var_of_all, use_input_stats, momentum, eps));
  const int64_t first[1] = {0};
  auto update = [&](const Tensor& running, const Tensor& moved) {
    if (running.defined())
      copy_(running, mean(view(moved, Dims{batch, channels}), IntSpan(first, 1), false, std::nullopt), false);
  };
  update(running_mean, mean_of_all);
  update(running_var, var_of_all);
  return view(out, input.sizes());
}

ThreeTensors group_norm_grads(const Tensor& dy, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                              const Tensor& weight, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps,
                              int64_t wanted) {
  return keep_wanted(_group_norm_backward(dy, input, mean, rstd, weight, N, C, HxW, group, eps, wanted), wanted);
}
Tensor group_norm_jvp(const Tensor& input_t, const Tensor& weight_t, const Tensor& bias_t, const Tensor& input,
                      const Tensor& weight, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) {
  Plan plan = group_plan(N, C, HxW, group, eps);
  return jvp(plan, Normal(plan, reshaped(input, plan.shape)), input_t, weight_t, bias_t, input, weight);
}
ThreeTensors group_norm_double(std::span<Tensor> grads, const Tensor& dy, const Tensor& input, const Tensor& weight,
                               int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) {
  Plan plan = group_plan(N, C, HxW, group, eps);
  return second(plan, Normal(plan, reshaped(input, plan.shape)), grads, dy, input, weight);
}
ThreeTensors group_norm_backward_jvp(const Tensor& dy_t, const Tensor& input_t, const Tensor& weight_t,
                                     const Tensor& dy, const Tensor& input, const Tensor& weight, int64_t N, int64_t C,
                                     int64_t HxW, int64_t group, double eps, int64_t mask) {
  Plan plan = group_plan(N, C, HxW, group, eps);
  Dims channels{C};
  return backward_jvp(plan, Normal(plan, reshaped(input, plan.shape)), dy_t, input_t, weight_t, dy, input, weight,
                      channels, mask);
}
Tensor group_norm_composite(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                            double eps) {
  UT_CHECK(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ", input.dim());
  UT_CHECK(num_groups > 0, "Expected num groups to be greater than 0, got ", num_groups);
  int64_t n = input.size(0), c = input.size(1), inner = 1;
  for (int64_t d = 2; d < input.dim(); d++) inner *= input.size(d);
  return std::get<0>(native_group_norm(input, weight, bias, n, c, inner, num_groups, eps));
}

}  // namespace undertow::core::ops
