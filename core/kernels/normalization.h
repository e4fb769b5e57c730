// normalization.h: kernels of layer, batch and group normalisation and their derivatives. Tensors are row-major and
// float32 or float64 unless said otherwise; weights and biases may be undefined, for ones and zeros.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

// `count` lines of n elements.
struct NormLines {
  int64_t count, n;
};

// A batch of images: (batch, channels, inner) in memory, or rows of channels where channels are innermost.
struct NormImages {
  int64_t batch, channels, inner;
  bool rows;  // channels are next to each other: batch * inner rows
  int64_t each() const { return batch * inner; }
};

// Images whose channels are normalised in groups.
struct NormGroups {
  int64_t batch, channels, inner, groups, per_group;
  int64_t each() const { return per_group * inner; }
};

struct NormalizationKernels {
  // Each line's (x - mean) * rstd * weight + bias. Without a mean tensor the mean counts as zero. x and out may be of a
  // half type; everything else is then float32.
  Kernel<"layer_norm", void(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                            const Tensor& weight, const Tensor& bias, const NormLines& lines, double eps)>
      layer_norm;
  // The input gradient `to`, unless undefined; and sums for weight and bias, unless undefined: tables with a row for
  // each `step` lines, which the caller adds up in order. grad, x and `to` may be of a half type.
  Kernel<"layer_norm_backward",
         void(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad, const Tensor& x,
              const Tensor& mean, const Tensor& rstd, const Tensor& weight, const NormLines& lines, int64_t step)>
      layer_norm_backward;

  // Normalises by the batch's own statistics, rounded to `stats`; updates the running ones, of any floating dtype,
  // unless they are undefined.
  Kernel<"batch_norm",
         void(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
              const Tensor& bias, const Tensor& running_mean, const Tensor& running_var, const NormImages& images,
              DType stats, double momentum, double eps)>
      batch_norm;
  // Normalises by given statistics.
  Kernel<"batch_norm", void(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Tensor& mean, const Tensor& var, const NormImages& images, double eps)>
      batch_norm_evaluate;
  // Gradients of the input (unless undefined), weight and bias. `second` is rstd in training and the variance
  // otherwise; `sums_wanted`: are weight and bias gradients needed outside training?
  Kernel<"batch_norm_backward",
         void(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad, const Tensor& x,
              const Tensor& weight, const Tensor& mean, const Tensor& second, const NormImages& images, bool training,
              bool sums_wanted, double eps)>
      batch_norm_backward;

  Kernel<"group_norm", void(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x,
                            const Tensor& weight, const Tensor& bias, const NormGroups& groups, double eps)>
      group_norm;
  // As layer_norm_backward, where a group is a line (no inner dimensions): tables with a row for each `step` items.
  Kernel<"group_norm_backward",
         void(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad, const Tensor& x,
              const Tensor& mean, const Tensor& rstd, const Tensor& weight, const NormGroups& groups, int64_t step)>
      group_norm_lines_backward;
  Kernel<"group_norm_backward",
         void(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad, const Tensor& x,
              const Tensor& mean, const Tensor& rstd, const Tensor& weight, const NormGroups& groups)>
      group_norm_backward;
};

}  // namespace undertow
