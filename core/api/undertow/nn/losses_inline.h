// losses_inline.h: the losses of nn::functional that few programs use, composed of operators. The references are
// undertow/nn/_functions/ctc.py, margin_losses.py and losses.py.
#pragma once
#include <vector>

#include <undertow/functions.h>
#include <undertow/nn/functional.h>

namespace undertow::nn::functional {
namespace detail {

template <class Reductions>
Tensor reduced(const Tensor& loss, const Reductions& reduction) {
  return reduction.index() == 0 ? loss : reduction.index() == 1 ? loss.mean() : loss.sum();
}
inline std::vector<int64_t> lengths(const Tensor& given, const char* name) {
  UT_CHECK(isIntegralType(given.scalar_type()), name, " must be integral, got ", given.dtype().name());
  Tensor flat = given.to(kLong).contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}
// The rows of scores and what says which classes are right, both with a batch dimension.
inline void check_labels(const Tensor& labels, int64_t least, int64_t classes) {
  UT_CHECK(labels.scalar_type() == kLong, "expected scalar type Long but found ", toString(labels.scalar_type()));
  UT_CHECK(!((labels < least) | (labels >= classes)).any().item<bool>(), "target out of range");
}
inline void check_scores(const Tensor& input) {
  UT_CHECK(
      input.dim() <= 2 && (input.dim() == 0 || input.size(-1) > 0),
      "Expected non-empty vector or matrix with optional 0-dim batch size, but got: ", core::ShapeText{input.sizes()});
}

}  // namespace detail

// The negative log probability of each target, summed over its alignments with log_probs (steps, batch, classes).
inline Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                       IntArrayRef target_lengths, const CTCLossFuncOptions& o = {}) {
  const bool has_batch = log_probs.dim() == 3;
  Tensor loss =
      std::get<0>(_ctc_loss(has_batch ? log_probs : log_probs.unsqueeze(1), has_batch ? targets : targets.unsqueeze(0),
                            input_lengths, target_lengths, o.blank(), o.zero_infinity()));
  if (o.zero_infinity()) loss = where(loss == std::numeric_limits<double>::infinity(), 0.0, loss);
  if (o.reduction().index() == 1)
    return (loss / tensor(target_lengths, loss.options().requires_grad(false)).clamp_min(1)).mean();
  if (o.reduction().index() == 2) return loss.sum();
  return has_batch ? loss : loss.squeeze(0);
}
inline Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, const CTCLossFuncOptions& o = {}) {
  return ctc_loss(log_probs, targets, detail::lengths(input_lengths, "input_lengths"),
                  detail::lengths(target_lengths, "target_lengths"), o);
}

inline Tensor multi_margin_loss(const Tensor& input, const Tensor& target, const MultiMarginLossFuncOptions& o = {}) {
  UT_CHECK_VALUE(o.p() == 1 || o.p() == 2, "only p == 1 and p == 2 supported");
  detail::check_scores(input);
  // Contiguous, so that the gradient is row-major.
  Tensor rows = input.dim() < 2 ? input.reshape({1, -1}) : input.contiguous(), labels = target.reshape({-1});
  UT_CHECK(target.dim() <= 1 && labels.numel() == rows.size(0),
           "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
           "size). Expected target size [",
           rows.size(0), "], but got ", core::ShapeText{target.sizes()});
  UT_CHECK(!o.weight().defined() || o.weight().numel() == rows.size(1), "inconsistent weight size, expected ",
           rows.size(1), " but got ", o.weight().defined() ? o.weight().numel() : 0);
  detail::check_labels(labels, 0, rows.size(1));
  Tensor at = labels.unsqueeze(1), off = (o.margin() - rows.gather(1, at) + rows).clamp_min(0);
  if (o.p() == 2) off = off * off;
  if (o.weight().defined()) off = off * o.weight().index({labels}).unsqueeze(1);
  Tensor loss = off.scatter(1, at, 0.0).sum({1}) / rows.size(1);
  return detail::reduced(loss.reshape(target.sizes()), o.reduction());
}

inline Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                                     const MultilabelMarginLossFuncOptions& o = {}) {
  detail::check_scores(input);
  const bool is_single = input.dim() < 2;
  Tensor rows = is_single ? input.reshape({1, -1}) : input, labels = is_single ? target.reshape({1, -1}) : target;
  UT_CHECK(rows.sizes() == labels.sizes(), "inconsistent target size: ", core::ShapeText{target.sizes()},
           " for input of size: ", core::ShapeText{input.sizes()});
  detail::check_labels(labels, -1, rows.size(1));
  Tensor listed = (labels >= 0).to(kLong).cumprod(1) > 0, at = labels.clamp_min(0);
  Tensor is_label = zeros_like(labels).scatter_add(1, at, listed.to(kLong)) > 0;
  Tensor off = (1 - rows.gather(1, at).unsqueeze(2) + rows.unsqueeze(1)).clamp_min(0);
  Tensor counts = listed.unsqueeze(2) & is_label.logical_not().unsqueeze(1);
  Tensor loss = off.masked_fill(counts.logical_not(), 0.0).sum({1, 2}) / rows.size(1);
  return detail::reduced(is_single ? loss.squeeze(0) : loss, o.reduction());
}

inline Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                          const MultilabelSoftMarginLossFuncOptions& o = {}) {
  Tensor loss = -(target * functional::logsigmoid(input) + (1 - target) * functional::logsigmoid(-input));
  if (o.weight().defined()) loss = loss * o.weight();
  return detail::reduced(loss.sum({-1}) / input.size(-1), o.reduction());
}

inline Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                                const TripletMarginWithDistanceLossFuncOptions& o = {}) {
  UT_CHECK_VALUE(o.margin() > 0, "margin must be greater than 0, got ", o.margin());
  auto distance = [&](const Tensor& a, const Tensor& b) {
    return o.distance_function() ? (*o.distance_function())(a, b) : functional::pairwise_distance(a, b);
  };
  Tensor to_positive = distance(anchor, positive), to_negative = distance(anchor, negative);
  if (o.swap()) to_negative = minimum(to_negative, distance(positive, negative));
  return detail::reduced((o.margin() + to_positive - to_negative).clamp_min(0), o.reduction());
}

}  // namespace undertow::nn::functional
