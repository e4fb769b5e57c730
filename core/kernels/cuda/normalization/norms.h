// norms.h: the CUDA backend's normalisation kernels, and what they share. See NormalizationKernels.
#pragma once
#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/normalization.h"

namespace undertow::core::cuda {

// Calls f(number) with eps or another constant in the type of the statistics.
template <class F>
void in_wide(DType wide, double value, F&& f) {
  if (wide == DType::Float64)
    f(value);
  else
    f(static_cast<float>(value));
}

inline char* data_or_null(const Tensor& t) { return t.defined() ? t.data() : nullptr; }

void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const NormLines& lines, double eps);
void layer_norm_backward(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                         const NormLines& lines, int64_t step);
void batch_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const Tensor& running_mean, const Tensor& running_var, const NormImages& images,
                DType stats, double momentum, double eps);
void batch_norm_evaluate(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& mean, const Tensor& var, const NormImages& images, double eps);
void batch_norm_backward(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad,
                         const Tensor& x, const Tensor& weight, const Tensor& mean, const Tensor& second,
                         const NormImages& images, bool training, bool sums_wanted, double eps);
void group_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const NormGroups& groups, double eps);
void group_norm_lines_backward(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad,
                               const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                               const NormGroups& groups, int64_t step);
void group_norm_backward(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                         const NormGroups& groups);

}  // namespace undertow::core::cuda
