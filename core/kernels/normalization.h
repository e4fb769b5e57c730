// normalization.h: kernels for layer, batch and group normalisation and their derivatives. Tensors are row-major and
// float32 or float64 unless stated otherwise; an undefined weight means ones, an undefined bias zeros.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

// `count` rows of n elements.
struct NormLines {
  int64_t count, n;
};

// A batch of images: (batch, channels, inner) in memory, or channels-last if `rows`.
struct NormImages {
  int64_t batch, channels, inner;
  bool rows;  // channels are innermost: batch * inner rows of channels
  int64_t each() const { return batch * inner; }
};

// Images whose channels are normalised in groups.
struct NormGroups {
  int64_t batch, channels, inner, groups, per_group;
  int64_t each() const { return per_group * inner; }
};

struct NormalizationKernels {
  // (x - mean) * rstd * weight + bias for each row. Without a mean tensor the mean is taken to be zero. x and out may
  // have a half dtype; everything else is then float32, but with half_types weight and bias may have x's dtype.
  Kernel<"layer_norm", void(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                            const Tensor& weight, const Tensor& bias, const NormLines& lines, double eps)>
      layer_norm;
  // The input gradient `to`, unless undefined; and partial sums for weight and bias, unless undefined: tables with one
  // row per `step` lines, which the caller adds up in order. grad, x and `to` may have a half dtype; with half_types
  // also the weight and the sums, which are then of all rows.
  Kernel<"layer_norm_backward",
         void(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad, const Tensor& x,
              const Tensor& mean, const Tensor& rstd, const Tensor& weight, const NormLines& lines, int64_t step)>
      layer_norm_backward;

  // With half_types, these three also take x, out and gradients of a half dtype, statistics and weights of their own
  // dtypes, and write the gradients of weight and bias in the weight's.
  // Normalises with the batch's own statistics, rounded to `stats`; updates the running statistics, of any floating
  // dtype, unless undefined.
  Kernel<"batch_norm",
         void(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
              const Tensor& bias, const Tensor& running_mean, const Tensor& running_var, const NormImages& images,
              DType stats, double momentum, double eps)>
      batch_norm;
  // Normalises with given statistics.
  Kernel<"batch_norm", void(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Tensor& mean, const Tensor& var, const NormImages& images, double eps)>
      batch_norm_evaluate;
  // Gradients of the input (unless undefined), weight and bias. `second` is rstd in training and the variance
  // otherwise. `sums_wanted`: are the weight and bias gradients needed outside training?
  Kernel<"batch_norm_backward",
         void(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad, const Tensor& x,
              const Tensor& weight, const Tensor& mean, const Tensor& second, const NormImages& images, bool training,
              bool sums_wanted, double eps)>
      batch_norm_backward;

  Kernel<"group_norm", void(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                            const Tensor& weight, const Tensor& bias, const NormGroups& groups, double eps)>
      group_norm;
  // As layer_norm_backward, for groups without inner dimensions, each a row: tables with one row per `step` items.
  Kernel<"group_norm_backward",
         void(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad, const Tensor& x,
              const Tensor& mean, const Tensor& rstd, const Tensor& weight, const NormGroups& groups, int64_t step)>
      group_norm_lines_backward;
  Kernel<"group_norm_backward",
         void(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad, const Tensor& x,
              const Tensor& mean, const Tensor& rstd, const Tensor& weight, const NormGroups& groups)>
      group_norm_backward;
  // Does layer and batch normalisation read and write half types, weights included, and add up the gradients of all
  // rows?
  bool half_types = false;
};

}  // namespace undertow::core
