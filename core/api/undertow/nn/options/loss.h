// loss.h: options of losses. Every loss has a reduction: kMean (the default), kSum or kNone.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <variant>

#include <undertow/tensor.h>
#include <undertow/types/arg.h>
#include <undertow/types/enum.h>

namespace undertow::nn {

#define UT_REDUCTION             \
 public:                         \
  using reduction_t = Reduction; \
  UNDERTOW_ARG(reduction_t, reduction) = kMean
// Options that a word alone stands for: l1_loss(input, target, kSum).
#define UT_FROM_REDUCTION(Options)                      \
  Options() = default;                                  \
  template <typename Word>                              \
    requires std::is_constructible_v<reduction_t, Word> \
  Options(Word word) : reduction_(word) {}

struct ReductionOptions {
  UT_REDUCTION;

 public:
  UT_FROM_REDUCTION(ReductionOptions)
};
using L1LossOptions = ReductionOptions;
using MSELossOptions = ReductionOptions;
using SoftMarginLossOptions = ReductionOptions;

struct BCELossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UT_REDUCTION;
};
struct BCEWithLogitsLossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UT_REDUCTION;
  UNDERTOW_ARG(Tensor, pos_weight);
};
struct NLLLossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(int64_t, ignore_index) = -100;
  UT_REDUCTION;
};
struct CrossEntropyLossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(int64_t, ignore_index) = -100;
  UT_REDUCTION;
  UNDERTOW_ARG(double, label_smoothing) = 0.0;
};
struct KLDivLossOptions {
  using reduction_t = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum, enumtype::kBatchMean>;
  UNDERTOW_ARG(reduction_t, reduction) = kMean;
  UNDERTOW_ARG(bool, log_target) = false;

 public:
  UT_FROM_REDUCTION(KLDivLossOptions)
};
struct SmoothL1LossOptions {
  UT_REDUCTION;
  UNDERTOW_ARG(std::optional<double>, beta);  // none: 1

 public:
  UT_FROM_REDUCTION(SmoothL1LossOptions)
};
struct HuberLossOptions {
  UT_REDUCTION;
  UNDERTOW_ARG(double, delta) = 1.0;

 public:
  UT_FROM_REDUCTION(HuberLossOptions)
};
struct HingeEmbeddingLossOptions {
  UNDERTOW_ARG(double, margin) = 1.0;
  UT_REDUCTION;
};
struct CosineEmbeddingLossOptions {
  UNDERTOW_ARG(double, margin) = 0.0;
  UT_REDUCTION;
};
using MarginRankingLossOptions = CosineEmbeddingLossOptions;
struct TripletMarginLossOptions {
  UNDERTOW_ARG(double, margin) = 1.0;
  UNDERTOW_ARG(double, p) = 2.0;
  UNDERTOW_ARG(double, eps) = 1e-6;
  UNDERTOW_ARG(bool, swap) = false;
  UT_REDUCTION;
};
struct TripletMarginWithDistanceLossOptions {
  using distance_function_t = std::function<Tensor(const Tensor&, const Tensor&)>;
  UNDERTOW_ARG(std::optional<distance_function_t>, distance_function);  // none: pairwise_distance
  UNDERTOW_ARG(double, margin) = 1.0;
  UNDERTOW_ARG(bool, swap) = false;
  UT_REDUCTION;
};
struct MultiMarginLossOptions {
  UNDERTOW_ARG(int64_t, p) = 1;
  UNDERTOW_ARG(double, margin) = 1.0;
  UNDERTOW_ARG(Tensor, weight);
  UT_REDUCTION;
};
using MultiLabelMarginLossOptions = ReductionOptions;
struct MultiLabelSoftMarginLossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UT_REDUCTION;
};
struct CTCLossOptions {
  UNDERTOW_ARG(int64_t, blank) = 0;
  UT_REDUCTION;
  UNDERTOW_ARG(bool, zero_infinity) = false;
};
struct PoissonNLLLossOptions {
  UNDERTOW_ARG(bool, log_input) = true;
  UNDERTOW_ARG(bool, full) = false;
  UNDERTOW_ARG(double, eps) = 1e-8;
  UT_REDUCTION;
};
#undef UT_REDUCTION
#undef UT_FROM_REDUCTION

namespace functional {
using L1LossFuncOptions = L1LossOptions;
using MSELossFuncOptions = MSELossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
}  // namespace functional
}  // namespace undertow::nn
