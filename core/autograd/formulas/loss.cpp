// loss.cpp: derivatives and compositions of losses. A derivative that is not differentiated again is one pass over
// memory.
// build: small
#include "core/forward/loss/loss.h"

#include "core/autograd/delegated/delegated.h"
#include "core/autograd/delegated/dispatched.h"
#include "core/autograd/formulas/formulas.h"
#include "core/autograd/fused_formula.h"
#include "core/forward/copy/copy.h"
#include "core/tensor/layout.h"

namespace undertow::core::ops {

namespace {
// Expands the gradient of a reduced loss to every element.
Tensor spread(const Tensor& grad, const Tensor& self, int64_t reduction) {
  return reduction == kMean ? grad / Scalar(static_cast<double>(self.numel())) : grad;
}
Tensor ones_for(const Tensor& t) { return fwd::full_on_device_of(t, {}, Scalar(1), t.dtype()); }
// The tangent of a loss of self - target whose derivative with respect to self is `slope`.
Tensor reduce_tangents(const Tensor& slope, const Tensor& self_t, const Tensor& target_t, int64_t reduction) {
  Tensor both = self_t.defined() && target_t.defined() ? self_t - target_t : self_t.defined() ? self_t : -target_t;
  return reduce_loss(slope * both, reduction);
}
Tensor times(const Tensor& t, const Tensor& weight) { return weight.defined() ? t * weight : t; }
}  // namespace

Tensor reduce_loss(const Tensor& loss, int64_t reduction) {
  return reduction == kMean ? mean(loss) : reduction == kSum ? sum(loss) : loss;
}

Tensor mse_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction) {
  if (is_dispatched_whole(grad, self, target))
    return delegated::call<Tensor>("aten::mse_loss_backward", {grad, self, target, reduction});
  if (!needs_operators())
    return fwd::contiguous(
        fwd::elementwise_loss_backward({LossKind::Squared, "mse_loss"}, grad, self, target, {}, reduction));
  return (self - target) * spread(grad * Scalar(2), self, reduction);
}
Tensor mse_loss_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
                    int64_t reduction) {
  return reduce_tangents((self - target) * Scalar(2), self_t, target_t, reduction);
}

Tensor smooth_l1_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                               double beta) {
  if (is_dispatched_whole(grad, self, target))
    return delegated::call<Tensor>("aten::smooth_l1_loss_backward", {grad, self, target, reduction, beta});
  if (!needs_operators())
    return fwd::contiguous(fwd::elementwise_loss_backward({LossKind::SmoothL1, "smooth_l1_loss", beta}, grad, self,
                                                          target, {}, reduction));  // row-major, as in torch
  Tensor x = self - target, g = spread(grad, self, reduction);
  return where(ge(x, Scalar(beta)), g, where(le(x, Scalar(-beta)), -g, x * g / Scalar(beta)));
}
Tensor smooth_l1_loss_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
                          int64_t reduction, double beta) {
  return reduce_tangents(smooth_l1_loss_backward(ones_for(self), self, target, kNone, beta), self_t, target_t,
                         reduction);
}
Tensor huber_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta) {
  if (is_dispatched_whole(grad, self, target))
    return delegated::call<Tensor>("aten::huber_loss_backward", {grad, self, target, reduction, delta});
  if (!needs_operators())
    return fwd::contiguous(
        fwd::elementwise_loss_backward({LossKind::Huber, "huber_loss", delta}, grad, self, target, {}, reduction));
  Tensor x = self - target, g = spread(grad, self, reduction), far = g * Scalar(delta);
  return where(ge(x, Scalar(delta)), far, where(le(x, Scalar(-delta)), -far, x * g));
}
Tensor huber_loss_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
                      int64_t reduction, double delta) {
  return reduce_tangents(huber_loss_backward(ones_for(self), self, target, kNone, delta), self_t, target_t, reduction);
}
// d log(1 + exp(-y x)) / dx = -y * sigmoid(-y x)
Tensor soft_margin_loss_backward(const Tensor& grad, const Tensor& self, const Tensor& target, int64_t reduction) {
  if (is_dispatched_whole(grad, self, target))
    return delegated::call<Tensor>("aten::soft_margin_loss_backward", {grad, self, target, reduction});
  if (!needs_operators())
    return fwd::contiguous(
        fwd::elementwise_loss_backward({LossKind::SoftMargin, "soft_margin_loss"}, grad, self, target, {}, reduction));
  return -(target * sigmoid(-(target * self))) * spread(grad, self, reduction);
}
Tensor soft_margin_loss_jvp(const Tensor& self_t, const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduce_loss(soft_margin_loss_backward(ones_for(self), self, target, kNone) * self_t, reduction);
}

// d/dx -(y log x + (1 - y) log(1 - x)) = (x - y) / (x (1 - x)), with the denominator kept away from zero.
Tensor bce_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                    int64_t reduction) {
  if (is_dispatched_whole(grad, self, target))
    return delegated::call<Tensor>("aten::binary_cross_entropy_backward", {grad, self, target, weight, reduction});
  if (fwd::differ_in_ones(self, target)) return bce_backward(grad, self, view(target, self.sizes()), weight, reduction);
  if (!needs_operators())
    return times(
        fwd::elementwise_loss_backward({LossKind::Bce, "binary_cross_entropy"}, grad, self, target, {}, reduction),
        weight);
  Tensor below = (Scalar(1) - self) * self;
  below = where(lt(below, Scalar(1e-12)), Scalar(1e-12), below);
  return times(spread(grad, self, reduction) * (self - target) / below, weight);
}
Tensor bce_target_backward(const Tensor& grad, const Tensor& self, const Tensor& weight, int64_t reduction) {
  Tensor slope =
      clamp(log(Scalar(1) - self) - log(self), std::optional<Scalar>(Scalar(-100)), std::optional<Scalar>(Scalar(100)));
  return times(spread(grad, self, reduction) * slope, weight);
}
Tensor bce_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
               const Tensor& weight, int64_t reduction) {
  Tensor out;
  if (self_t.defined()) out = bce_backward(ones_for(self), self, target, weight, kNone) * self_t;
  if (target_t.defined()) {
    Tensor tangent = fwd::differ_in_ones(self, target) ? view(target_t, self.sizes()) : target_t;
    out = self_t_plus(bce_target_backward(ones_for(self), self, weight, kNone) * tangent, out);
  }
  return reduce_loss(out, reduction);
}

Tensor bce_logits_backward(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                           const Tensor& pos_weight, int64_t reduction) {
  if (!needs_operators()) {
    LossKind loss = pos_weight.defined() ? LossKind::BceLogitsWeighted : LossKind::BceLogits;
    return times(fwd::elementwise_loss_backward({loss, "binary_cross_entropy_with_logits"}, grad, self, target,
                                                pos_weight, reduction),
                 weight);
  }
  Tensor g = spread(grad, self, reduction);
  if (!pos_weight.defined()) return times((sigmoid(self) - target) * g, weight);
  Tensor t = pos_weight * target;
  return times(((t + Scalar(1) - target) * sigmoid(self) - t) * g, weight);
}
Tensor bce_logits_target_backward(const Tensor& grad, const Tensor& self, const Tensor& weight,
                                  const Tensor& pos_weight, int64_t reduction) {
  Tensor g = spread(grad, self, reduction);
  if (!pos_weight.defined()) return times(-(self * g), weight);
  return times((logsigmoid(-self) - pos_weight * logsigmoid(self)) * g, weight);
}
Tensor bce_logits_jvp(const Tensor& self_t, const Tensor& target_t, const Tensor& self, const Tensor& target,
                      const Tensor& weight, const Tensor& pos_weight, int64_t reduction) {
  Tensor out;
  if (self_t.defined()) out = bce_logits_backward(ones_for(self), self, target, weight, pos_weight, kNone) * self_t;
  if (target_t.defined())
    out = self_t_plus(bce_logits_target_backward(ones_for(self), self, weight, pos_weight, kNone) * target_t, out);
  return reduce_loss(out, reduction);
}

Tensor nll_loss_grad(const Tensor& grad, const Tensor& self, const Tensor& target, const Tensor& weight,
                     int64_t reduction, int64_t ignore_index, const Tensor& total_weight) {
  return flat_in(nll_loss_backward(grad, self.sizes(), target, weight, reduction, ignore_index, total_weight), self);
}
Tensor nll_loss_value(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                      int64_t ignore_index) {
  return std::get<0>(nll_loss_forward(self, target, weight, reduction, ignore_index));
}

Tensor nll_loss_nd_composite(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                             int64_t ignore_index) {
  UT_CHECK_VALUE(self.dim() >= 1, "Expected 1 or more dimensions (got ", self.dim(), ")");
  UT_CHECK_VALUE(self.dim() == 1 || (target.dim() > 0 && self.size(0) == target.size(0)), "Expected input batch_size (",
                 self.size(0), ") to match target batch_size (", target.dim() ? target.size(0) : 0, ").");
  if (self.dim() <= 2) return std::get<0>(nll_loss_forward(self, target, weight, reduction, ignore_index));
  if (self.dim() == 4) return std::get<0>(nll_loss2d_forward(self, target, weight, reduction, ignore_index));
  // Three, five or more dimensions: all spatial dimensions become one.
  Dims space;
  for (int64_t d = 2; d < self.dim(); d++) space.push_back(self.size(d));
  Dims expected{self.size(0)};
  for (int64_t s : space) expected.push_back(s);
  UT_CHECK(same(target.sizes(), expected), "Expected target size ", ShapeText{expected}, ", got ",
           ShapeText{target.sizes()});
  int64_t points = product(space);
  Tensor flat =
      std::get<0>(nll_loss2d_forward(reshape(self, Dims{self.size(0), self.size(1), 1, points}),
                                     reshape(target, Dims{self.size(0), 1, points}), weight, reduction, ignore_index));
  return reduction == kNone ? reshape(flat, expected) : flat;
}

namespace {
// Class weights shaped so that they multiply along the class dimension.
Tensor shaped_weight(const Tensor& weight, const Tensor& self, int64_t class_dim) {
  if (self.dim() == 1) return weight;
  Dims shape(static_cast<size_t>(self.dim()), 1);
  shape[static_cast<size_t>(class_dim)] = weight.size(0);
  return view(weight, shape);
}

Tensor with_probabilities(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                          double smoothing, int64_t class_dim) {
  int64_t classes = self.size(class_dim);
  UT_CHECK(!weight.defined() || (weight.dim() == 1 && weight.numel() == classes),
           "cross_entropy: weight tensor should be defined either for all ", classes,
           " classes or no classes but got weight tensor of shape: ",
           ShapeText{weight.defined() ? weight.sizes() : IntSpan()});
  Tensor input = log_softmax(self, class_dim, self.dtype()), y = target;
  if (smoothing > 0) y = y * Scalar(1 - smoothing) + Scalar(smoothing / static_cast<double>(classes));
  Tensor parts = input * y;
  if (weight.defined()) parts = parts * shaped_weight(weight, self, class_dim);
  if (reduction == kNone) return -sum(parts, IntSpan(&class_dim, 1), false, std::nullopt);
  Tensor total = -sum(parts);
  return reduction == kSum ? total : total / Scalar(static_cast<double>(input.numel()) / static_cast<double>(classes));
}

Tensor smoothed(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction, int64_t ignore_index,
                double smoothing, int64_t class_dim) {
  int64_t classes = self.size(class_dim);
  Tensor input = log_softmax(self, class_dim, self.dtype());
  Tensor nll = nll_loss_nd_composite(input, target, weight, reduction, ignore_index);
  Tensor weighted = weight.defined() ? input * shaped_weight(weight, self, class_dim) : input;
  Tensor even = -sum(weighted, IntSpan(&class_dim, 1), false, std::nullopt);
  Tensor ignored = eq(target, Scalar(static_cast<long>(ignore_index)));
  even = masked_fill(even, ignored, Scalar(0));
  if (reduction == kSum) even = sum(even);
  if (reduction == kMean) {
    Tensor counted = logical_not(ignored);
    if (weight.defined()) {
      Tensor safe = masked_fill(target, ignored, Scalar(0));
      Tensor each = reshape(index_select(weight, 0, reshape(safe, Dims{-1})), target.sizes()) * counted;
      even = sum(even) / sum(each);
    } else {
      even = sum(even) / sum(counted);
    }
  }
  return nll * Scalar(1 - smoothing) + even * Scalar(smoothing / static_cast<double>(classes));
}
}  // namespace

Tensor cross_entropy_composite(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction,
                               int64_t ignore_index, double label_smoothing) {
  UT_CHECK(label_smoothing >= 0 && label_smoothing <= 1,
           "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  UT_CHECK_VALUE(self.dim() >= 1, "Expected 1 or more dimensions (got ", self.dim(), ")");
  int64_t class_dim = self.dim() == 1 ? 0 : 1;
  if (same(self.sizes(), target.sizes())) {
    UT_CHECK(is_floating(target.dtype()), "Expected floating point type for target with class probabilities, got ",
             long_name(target.dtype()));
    UT_CHECK(ignore_index < 0, "ignore_index is not supported for floating point target");
    return with_probabilities(self, target, weight, reduction, label_smoothing, class_dim);
  }
  if (label_smoothing > 0) return smoothed(self, target, weight, reduction, ignore_index, label_smoothing, class_dim);
  return nll_loss_nd_composite(log_softmax(self, class_dim, self.dtype()), target, weight, reduction, ignore_index);
}

}  // namespace undertow::core::ops
