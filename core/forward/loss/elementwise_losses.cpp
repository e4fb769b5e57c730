// elementwise_losses.cpp: elementwise losses: forward functions of ops/loss.toml, and loss.h.
#include "core/forward/copy/copy.h"
#include "core/forward/loss/loss.h"
#include "core/kernels/backend.h"
#include "core/tensor/dtype/promotion.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd.h"

namespace undertow::core::fwd {

namespace {

Tensor reduced(const Tensor& loss, int64_t reduction) {
  return reduction == kMean ? mean(loss, std::nullopt) : reduction == kSum ? sum(loss, std::nullopt) : loss;
}

// The kernels' operands, all in one dtype: float for half dtypes.
struct Operands {
  DType dtype, wide;
  Tensor x, y, weight;
};
Operands operands(const Tensor& self, const Tensor& target, const Tensor& weight, const char* name) {
  Operands o;
  o.dtype = result_type(self, target);
  if (weight.defined() && weight.dim() > 0) o.dtype = promote_types(o.dtype, weight.dtype());
  if (!is_floating(o.dtype)) throw_not_implemented(name, o.dtype);
  o.wide = is_reduced_float(o.dtype) ? DType::Float32 : o.dtype;
  o.x = to_dtype(self, o.wide);
  o.y = to_dtype(target, o.wide);
  if (weight.defined()) o.weight = to_dtype(weight, o.wide);
  return o;
}

ElementwiseIter iter_over(const Operands& o, const Tensor& grad = {}) {
  ElementwiseIter iter;
  iter.add_output({}, o.wide);
  iter.add_input(o.x);
  iter.add_input(o.y);
  if (o.weight.defined()) iter.add_input(o.weight);
  if (grad.defined()) iter.add_input(grad);
  iter.build();
  return iter;
}

Tensor each(const ElementwiseLoss& loss, const Operands& o) {
  ElementwiseIter iter = iter_over(o);
  backend_of(iter.device()).loss->values(iter, o.wide, loss);
  return iter.output();
}

Tensor value(const ElementwiseLoss& loss, const Tensor& self, const Tensor& target, const Tensor& pos_weight,
             int64_t reduction) {
  Operands o = operands(self, target, pos_weight, loss.name);
  bool flat = !o.weight.defined() && o.x.is_contiguous() && o.y.is_contiguous() && same(o.x.sizes(), o.y.sizes());
  if (reduction == kNone || !flat || o.x.numel() == 0) return to_dtype(reduced(each(loss, o), reduction), o.dtype);
  Tensor out = empty_on_device_of(o.x, {}, o.wide);
  backend_of(o.x).loss->total(out, o.x, o.y, loss, reduction == kMean);
  return to_dtype(out, o.dtype);
}

}  // namespace

Tensor elementwise_loss_backward(const ElementwiseLoss& loss, const Tensor& grad, const Tensor& self,
                                 const Tensor& target, const Tensor& pos_weight, int64_t reduction) {
  Operands o = operands(self, target, pos_weight, loss.name);
  Tensor g = to_dtype(grad, o.wide);
  bool own = reduction == kNone;  // each element has its own gradient
  ElementwiseIter iter = iter_over(o, own ? g : Tensor());
  backend_of(iter.device()).loss->gradients(iter, o.wide, loss, own ? Tensor() : g, reduction == kMean);
  return to_dtype(iter.output(), o.dtype);
}

bool differ_in_ones(const Tensor& self, const Tensor& target) {
  if (same(self.sizes(), target.sizes())) return false;
  auto a = self.sizes().begin(), b = target.sizes().begin();
  for (;; ++a, ++b) {
    while (a != self.sizes().end() && *a == 1) ++a;
    while (b != target.sizes().end() && *b == 1) ++b;
    if (a == self.sizes().end() || b == target.sizes().end()) break;
    if (*a != *b) return false;
  }
  return a == self.sizes().end() && b == target.sizes().end();
}

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  DType t = result_type(self, target);
  if (!is_floating(t) && t != DType::Bool) throw_not_implemented("mse_cpu", t);
  if (t == DType::Bool) sub(self, target, Scalar(1));  // which raises
  return value({LossKind::Squared, "mse_cpu"}, self, target, {}, reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  UT_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  return value({LossKind::SmoothL1, "smooth_l1_cpu", beta}, self, target, {}, reduction);
}
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  UT_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  return value({LossKind::Huber, "huber_cpu", delta}, self, target, {}, reduction);
}
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return value({LossKind::SoftMargin, "soft_margin_cpu"}, self, target, {}, reduction);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, int64_t reduction) {
  UT_CHECK(self.dtype() == target.dtype(), "Found dtype ", long_name(target.dtype()), " but expected ",
           long_name(self.dtype()));
  if (differ_in_ones(self, target)) return binary_cross_entropy(self, view(target, self.sizes()), weight, reduction);
  ElementwiseLoss loss{LossKind::Bce, "binary_cross_entropy"};
  if (!weight.defined()) return value(loss, self, target, {}, reduction);
  return reduced(mul(value(loss, self, target, {}, kNone), weight), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, int64_t reduction) {
  DType wide = result_type(self, target);
  UT_CHECK(is_integral(wide) || !is_integral(target.dtype()), "result type ", long_name(wide),
           " can't be cast to the desired output type ", long_name(target.dtype()));
  ElementwiseLoss loss{pos_weight.defined() ? LossKind::BceLogitsWeighted : LossKind::BceLogits,
                       "binary_cross_entropy_with_logits"};
  if (!weight.defined()) return value(loss, self, target, pos_weight, reduction);
  return reduced(mul(value(loss, self, target, pos_weight, kNone), weight), reduction);
}

}  // namespace undertow::core::fwd
