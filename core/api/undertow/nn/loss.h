// loss.h: losses as modules.
#pragma once
#include <undertow/nn/function_module.h>
#include <undertow/nn/losses_inline.h>

namespace undertow::nn {

#define UT_LOSS(Name, function)                                                                                        \
  class Name##Impl : public detail::FunctionModule<Name##Impl, Name##Options> {                                        \
   public:                                                                                                             \
    using FunctionModule::FunctionModule;                                                                              \
    Tensor forward(const Tensor& input, const Tensor& target) { return functional::function(input, target, options); } \
  };                                                                                                                   \
  UNDERTOW_MODULE(Name)
UT_LOSS(L1Loss, l1_loss);
UT_LOSS(MSELoss, mse_loss);
UT_LOSS(SmoothL1Loss, smooth_l1_loss);
UT_LOSS(HuberLoss, huber_loss);
UT_LOSS(SoftMarginLoss, soft_margin_loss);
UT_LOSS(NLLLoss, nll_loss);
UT_LOSS(CrossEntropyLoss, cross_entropy);
UT_LOSS(BCELoss, binary_cross_entropy);
UT_LOSS(BCEWithLogitsLoss, binary_cross_entropy_with_logits);
UT_LOSS(KLDivLoss, kl_div);
UT_LOSS(PoissonNLLLoss, poisson_nll_loss);
UT_LOSS(HingeEmbeddingLoss, hinge_embedding_loss);
UT_LOSS(MultiMarginLoss, multi_margin_loss);
UT_LOSS(MultiLabelMarginLoss, multilabel_margin_loss);
UT_LOSS(MultiLabelSoftMarginLoss, multilabel_soft_margin_loss);
#undef UT_LOSS

#define UT_LOSS(Name, function)                                                      \
  class Name##Impl : public detail::FunctionModule<Name##Impl, Name##Options> {      \
   public:                                                                           \
    using FunctionModule::FunctionModule;                                            \
    Tensor forward(const Tensor& first, const Tensor& second, const Tensor& third) { \
      return functional::function(first, second, third, options);                    \
    }                                                                                \
  };                                                                                 \
  UNDERTOW_MODULE(Name)
UT_LOSS(MarginRankingLoss, margin_ranking_loss);
UT_LOSS(CosineEmbeddingLoss, cosine_embedding_loss);
UT_LOSS(TripletMarginLoss, triplet_margin_loss);
UT_LOSS(TripletMarginWithDistanceLoss, triplet_margin_with_distance_loss);
#undef UT_LOSS

class CTCLossImpl : public detail::FunctionModule<CTCLossImpl, CTCLossOptions> {
 public:
  using FunctionModule::FunctionModule;
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths) {
    return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
  }
};
UNDERTOW_MODULE(CTCLoss);

}  // namespace undertow::nn
