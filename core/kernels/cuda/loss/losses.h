// losses.h: the CUDA backend's loss kernels. See LossKernels.
#pragma once
#include "core/kernels/loss.h"

namespace undertow::core::cuda {

void loss_values(const ElementwiseIter& iter, DType dtype, const ElementwiseLoss& loss);
void loss_total(const Tensor& out, const Tensor& x, const Tensor& y, const ElementwiseLoss& loss, bool mean);
void loss_gradients(const ElementwiseIter& iter, DType dtype, const ElementwiseLoss& loss, const Tensor& shared,
                    bool mean);
void nll(const Tensor& each, const Tensor& total, const Tensor& in, const Tensor& target, const Tensor& weight,
         const ClassGeometry& geometry, int64_t ignore, bool sum_weights);
void nll_total(const Tensor& out, const Tensor& total, const Tensor& in, const Tensor& target, const Tensor& weight,
               const ClassGeometry& geometry, int64_t ignore, bool mean);
void nll_backward(const Tensor& out, const Tensor& grad, const Tensor& target, const Tensor& weight,
                  const Tensor& total, const ClassGeometry& geometry, int64_t ignore, int64_t reduction);
void check_labels(const CtcBatch& batch);
void ctc(const Tensor& loss, const Tensor& alpha, const Tensor& log_probs, const CtcBatch& batch);
void ctc_backward(const Tensor& out, const Tensor& grad, const Tensor& log_probs, const Tensor& loss,
                  const Tensor& alpha, const CtcBatch& batch, bool zero_infinity);

}  // namespace undertow::core::cuda
