// losses.cpp: the losses of nn::functional. The reference is undertow/nn/_functions/losses.py.
// build: small
#include <cmath>
#include <numbers>

#include <undertow/functions.h>
#include <undertow/nn/functional.h>
#include <undertow/nn/losses_inline.h>

namespace undertow::nn::functional {

namespace ops = core::ops;
using detail::reduced;

namespace {

int64_t number(const Reduction& reduction) { return static_cast<int64_t>(reduction.index()); }

// Warns if shapes differ: the core broadcasts them.
void check_same_size(const Tensor& input, const Tensor& target) {
  if (input.sizes() == target.sizes()) return;
  core::warn(core::str("Using a target size (", core::ShapeText{target.sizes()},
                       ") that is different to the input size (", core::ShapeText{input.sizes()},
                       "). This will likely lead to incorrect results due to broadcasting. Please ensure they have the "
                       "same size."));
}

}  // namespace

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& o) {
  check_same_size(input, target);
  return ops::l1_loss(input, target, number(o.reduction()));
}
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& o) {
  check_same_size(input, target);
  return ops::mse_loss(input, target, number(o.reduction()));
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& o) {
  check_same_size(input, target);
  double beta = o.beta().value_or(1.0);
  if (beta == 0) return ops::l1_loss(input, target, number(o.reduction()));
  return ops::smooth_l1_loss(input, target, number(o.reduction()), beta);
}
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& o) {
  check_same_size(input, target);
  return ops::huber_loss(input, target, number(o.reduction()), o.delta());
}
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, const SoftMarginLossFuncOptions& o) {
  return ops::soft_margin_loss(input, target, number(o.reduction()));
}
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& o) {
  return ops::nll_loss_nd(input, target, o.weight(), number(o.reduction()), o.ignore_index());
}
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& o) {
  return ops::cross_entropy_loss(input, target, o.weight(), number(o.reduction()), o.ignore_index(),
                                 o.label_smoothing());
}
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const BinaryCrossEntropyFuncOptions& o) {
  UT_CHECK_VALUE(target.sizes() == input.sizes(), "Using a target size (", core::ShapeText{target.sizes()},
                 ") that is different to the input size (", core::ShapeText{input.sizes()},
                 ") is deprecated. Please ensure they have the same size.");
  Tensor weight = o.weight();
  if (weight.defined()) weight = ops::expand_as(weight, target);
  return ops::binary_cross_entropy(input, target, weight, number(o.reduction()));
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& o) {
  UT_CHECK_VALUE(target.sizes() == input.sizes(), "Target size (", core::ShapeText{target.sizes()},
                 ") must be the same as input size (", core::ShapeText{input.sizes()}, ")");
  return ops::binary_cross_entropy_with_logits(input, target, o.weight(), o.pos_weight(), number(o.reduction()));
}
Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& o) {
  Tensor loss = o.log_target() ? target.exp() * (target - input) : target.xlogy(target) - target * input;
  if (o.reduction().index() != 3) return reduced(loss, o.reduction());
  Tensor total = loss.sum();
  return input.dim() ? total / Scalar(input.size(0)) : total;
}
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonNLLLossFuncOptions& o) {
  Tensor loss = o.log_input() ? input.exp() - target * input : input - target * (input + o.eps()).log();
  if (o.full()) {
    Tensor stirling = target * target.log() - target + 0.5 * (2 * std::numbers::pi * target).log();
    loss = loss + stirling.masked_fill(target <= 1, 0);
  }
  return reduced(loss, o.reduction());
}
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, const HingeEmbeddingLossFuncOptions& o) {
  Tensor zeros = ops::zeros_like(input);
  Tensor far = ops::where(target != 1, (o.margin() - input).clamp_min(0), zeros);
  Tensor near = ops::where(target != -1, input, zeros);
  return reduced(far + near, o.reduction());
}
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& o) {
  UT_CHECK(input1.dim() == input2.dim() && input1.dim() == target.dim(),
           "margin_ranking_loss : All input tensors should have same dimension but got ", input1.dim(), ", ",
           input2.dim(), " and ", target.dim());
  return reduced((-target * (input1 - input2) + o.margin()).clamp_min(0), o.reduction());
}
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& o) {
  UT_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  UT_CHECK(input1.dim() == target.dim() + 1, target.dim(), "D target tensor expects ", target.dim() + 1,
           "D input tensors, but found inputs with ", input1.dim(), " and ", input2.dim(), " dimensions.");
  auto sum = [&](const Tensor& t) {
    int64_t dim = target.dim();
    return Tensor(ops::sum(t, core::IntSpan(&dim, 1)));
  };
  constexpr double tiny = 1e-12;
  Tensor dot = sum(input1 * input2), norm1 = sum(input1 * input1) + tiny, norm2 = sum(input2 * input2) + tiny;
  Tensor cosine = dot / (norm1 * norm2).sqrt(), zeros = ops::zeros_like(cosine);
  Tensor near = ops::where(target == 1, 1 - cosine, zeros);
  Tensor far = ops::where(target == -1, (cosine - o.margin()).clamp_min(0), zeros);
  return reduced(near + far, o.reduction());
}
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& o) {
  UT_CHECK_VALUE(o.margin() > 0, "margin must be greater than 0, got ", o.margin());
  UT_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
           "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
           "anchor ",
           anchor.dim(), "D, positive ", positive.dim(), "D, and negative ", negative.dim(), "D inputs");
  auto distance = [&](const Tensor& a, const Tensor& b) {
    return Tensor(ops::pairwise_distance(a, b, o.p(), o.eps()));
  };
  Tensor to_positive = distance(anchor, positive), to_negative = distance(anchor, negative);
  if (o.swap()) to_negative = ops::minimum(to_negative, distance(positive, negative));
  return reduced((o.margin() + to_positive - to_negative).clamp_min(0), o.reduction());
}

}  // namespace undertow::nn::functional
