// norms.h: the CPU's normalisation kernels, and what they share. See NormalizationKernels.
#pragma once
#include "core/kernels/normalization.h"

namespace undertow::core::cpu {

inline constexpr int64_t kNormGrain = 16384;  // elements in a chunk

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.data_as<T>() : nullptr;
}
template <class T>
T* writable_or_null(const Tensor& t) {
  return t.defined() ? t.data_as<T>() : nullptr;
}

// Calls f(TypeTag<float>) or f(TypeTag<double>).
template <class F>
void in_wide(DType wide, F&& f) {
  if (wide == DType::Float32)
    f(TypeTag<float>{});
  else
    f(TypeTag<double>{});
}

void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const NormLines& lines, double eps);
void layer_norm_backward(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                         const NormLines& lines, int64_t step);
void group_norm(const Tensor& out, const Tensor& mean, const Tensor& rstd, const Tensor& x, const Tensor& weight,
                const Tensor& bias, const NormGroups& groups, double eps);
void group_norm_lines_backward(const Tensor& to, const Tensor& weight_sums, const Tensor& bias_sums, const Tensor& grad,
                               const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                               const NormGroups& groups, int64_t step);
void group_norm_backward(const Tensor& to, const Tensor& weight_grad, const Tensor& bias_grad, const Tensor& grad,
                         const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                         const NormGroups& groups);

}  // namespace undertow::core::cpu
