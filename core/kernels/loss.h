// loss.h: kernels for losses and their derivatives, in float32 or float64.
#pragma once
#include "core/kernels/kernel.h"
#include "core/kernels/loss_kind.h"

namespace undertow::core {

struct ElementwiseLoss {
  LossKind kind;
  const char* name;  // for messages
  double limit = 1;  // where smooth_l1_loss and huber_loss become linear
};

// The sizes of a classification: n items of c classes at `space` points.
struct ClassGeometry {
  int64_t n, c, space;
};

// A batch of label sequences: labels are row-major int64; those of sample i begin at start[i].
struct CtcBatch {
  Tensor labels;
  std::vector<int64_t> start;
  int64_t longest, steps, samples, classes, blank;
  IntSpan input_lengths, target_lengths;
};

struct LossKernels {
  // Elementwise losses. iter: output, x, y, and the weight if the kind has one. Bce raises for elements outside [0, 1].
  Kernel<"loss", void(const ElementwiseIter& iter, DType dtype, const ElementwiseLoss& loss)> values;
  // Their sum or mean over row-major x and y of the same shape, into a 0-dimensional tensor.
  Kernel<"loss", void(const Tensor& out, const Tensor& x, const Tensor& y, const ElementwiseLoss& loss, bool mean)>
      total;
  // Derivatives with respect to x, times the gradient. The gradient is iter's last input if there is one per element;
  // otherwise it is the single number in `shared`, divided by the number of elements if `mean`.
  Kernel<"loss_backward",
         void(const ElementwiseIter& iter, DType dtype, const ElementwiseLoss& loss, const Tensor& shared, bool mean)>
      gradients;

  // Negative log likelihood. in: row-major scores; target: row-major int64; weight: row-major or undefined. each: the
  // losses; total: the sum of the weights, unchanged unless `sum_weights`, which is false where
  // reductions are fused: nll_total does that. Raises for a target that is not a class.
  Kernel<"nll_loss", void(const Tensor& each, const Tensor& total, const Tensor& in, const Tensor& target,
                          const Tensor& weight, const ClassGeometry& geometry, int64_t ignore, bool sum_weights)>
      nll;
  // Where reductions are fused: their sum or mean, and the sum of the weights, in the dtype of the scores, without
  // storing the losses.
  Kernel<"nll_loss", void(const Tensor& out, const Tensor& total, const Tensor& in, const Tensor& target,
                          const Tensor& weight, const ClassGeometry& geometry, int64_t ignore, bool mean)>
      nll_total;
  // Into zeros of in's shape. Where reductions are fused, grad and total may have a half type.
  Kernel<"nll_loss_backward",
         void(const Tensor& out, const Tensor& grad, const Tensor& target, const Tensor& weight, const Tensor& total,
              const ClassGeometry& geometry, int64_t ignore, int64_t reduction)>
      nll_backward;

  // Connectionist temporal classification. Raises for a label that is not a class.
  Kernel<"ctc_loss", void(const CtcBatch& batch)> check_labels;
  // alpha must be filled with minus infinity.
  Kernel<"ctc_loss", void(const Tensor& loss, const Tensor& alpha, const Tensor& log_probs, const CtcBatch& batch)> ctc;
  // Into zeros of log_probs' shape.
  Kernel<"ctc_loss_backward", void(const Tensor& out, const Tensor& grad, const Tensor& log_probs, const Tensor& loss,
                                   const Tensor& alpha, const CtcBatch& batch, bool zero_infinity)>
      ctc_backward;
};

}  // namespace undertow::core
