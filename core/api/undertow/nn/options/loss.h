// loss.h: options of losses. Every loss has a reduction: kMean (the default), kSum or kNone.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include <undertow/tensor.h>
#include <undertow/types/arg.h>
#include <undertow/types/enum.h>

namespace undertow::nn {

struct ReductionOptions {
  ReductionOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  UNDERTOW_ARG(Reduction, reduction);
};
using L1LossOptions = ReductionOptions;
using MSELossOptions = ReductionOptions;
using SoftMarginLossOptions = ReductionOptions;

struct BCELossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};
struct BCEWithLogitsLossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(Reduction, reduction) = kMean;
  UNDERTOW_ARG(Tensor, pos_weight);
};
struct NLLLossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(int64_t, ignore_index) = -100;
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};
struct CrossEntropyLossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(int64_t, ignore_index) = -100;
  UNDERTOW_ARG(Reduction, reduction) = kMean;
  UNDERTOW_ARG(double, label_smoothing) = 0.0;
};
struct KLDivLossOptions {
  using reduction_t = std::variant<enumtype::kNone, enumtype::kMean, enumtype::kSum, enumtype::kBatchMean>;
  KLDivLossOptions(reduction_t reduction = kMean) : reduction_(reduction) {}
  UNDERTOW_ARG(reduction_t, reduction);
  UNDERTOW_ARG(bool, log_target) = false;
};
struct SmoothL1LossOptions {
  SmoothL1LossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  UNDERTOW_ARG(Reduction, reduction);
  UNDERTOW_ARG(std::optional<double>, beta);  // none: 1
};
struct HuberLossOptions {
  HuberLossOptions(Reduction reduction = kMean) : reduction_(reduction) {}
  UNDERTOW_ARG(Reduction, reduction);
  UNDERTOW_ARG(double, delta) = 1.0;
};
struct HingeEmbeddingLossOptions {
  UNDERTOW_ARG(double, margin) = 1.0;
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};
struct CosineEmbeddingLossOptions {
  UNDERTOW_ARG(double, margin) = 0.0;
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};
using MarginRankingLossOptions = CosineEmbeddingLossOptions;
struct TripletMarginLossOptions {
  UNDERTOW_ARG(double, margin) = 1.0;
  UNDERTOW_ARG(double, p) = 2.0;
  UNDERTOW_ARG(double, eps) = 1e-6;
  UNDERTOW_ARG(bool, swap) = false;
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};
struct TripletMarginWithDistanceLossOptions {
  using distance_function_t = std::function<Tensor(const Tensor&, const Tensor&)>;
  UNDERTOW_ARG(std::optional<distance_function_t>, distance_function);  // none: pairwise_distance
  UNDERTOW_ARG(double, margin) = 1.0;
  UNDERTOW_ARG(bool, swap) = false;
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};
struct MultiMarginLossOptions {
  UNDERTOW_ARG(int64_t, p) = 1;
  UNDERTOW_ARG(double, margin) = 1.0;
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};
using MultiLabelMarginLossOptions = ReductionOptions;
struct MultiLabelSoftMarginLossOptions {
  UNDERTOW_ARG(Tensor, weight);
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};
struct CTCLossOptions {
  UNDERTOW_ARG(int64_t, blank) = 0;
  UNDERTOW_ARG(Reduction, reduction) = kMean;
  UNDERTOW_ARG(bool, zero_infinity) = false;
};
struct PoissonNLLLossOptions {
  UNDERTOW_ARG(bool, log_input) = true;
  UNDERTOW_ARG(bool, full) = false;
  UNDERTOW_ARG(double, eps) = 1e-8;
  UNDERTOW_ARG(Reduction, reduction) = kMean;
};

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
