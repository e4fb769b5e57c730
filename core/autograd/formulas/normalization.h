// normalization.h: derivatives of normalisations, first and second, and compositions of them.
// Each function is differentiable: it calls only operators. Tangents and weights may be undefined.
#pragma once
#include <span>
#include <tuple>

#include "core/autograd/op_types.h"

namespace undertow::core::ops {

using TwoTensors = std::tuple<Tensor, Tensor>;
using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

ThreeTensors layer_norm_grads(const Tensor& dy, const Tensor& input, IntSpan shape, const Tensor& mean,
                              const Tensor& rstd, const Tensor& weight, double eps, int64_t wanted);
Tensor layer_norm_jvp(const Tensor& input_t, const Tensor& weight_t, const Tensor& bias_t, const Tensor& input,
                      IntSpan shape, const Tensor& weight, double eps);
ThreeTensors layer_norm_double(std::span<Tensor> grads, const Tensor& dy, const Tensor& input, IntSpan shape,
                               const Tensor& weight, double eps);
ThreeTensors layer_norm_backward_jvp(const Tensor& dy_t, const Tensor& input_t, const Tensor& weight_t,
                                     const Tensor& dy, const Tensor& input, IntSpan shape, const Tensor& weight,
                                     double eps, int64_t mask);

TwoTensors rms_norm_grads(const Tensor& dy, const Tensor& input, IntSpan shape, const Tensor& rstd,
                          const Tensor& weight, std::optional<double> eps, int64_t wanted);
Tensor rms_norm_jvp(const Tensor& input_t, const Tensor& weight_t, const Tensor& input, IntSpan shape,
                    const Tensor& weight, std::optional<double> eps);
ThreeTensors rms_norm_double(std::span<Tensor> grads, const Tensor& dy, const Tensor& input, IntSpan shape,
                             const Tensor& weight, std::optional<double> eps);
TwoTensors rms_norm_backward_jvp(const Tensor& dy_t, const Tensor& input_t, const Tensor& weight_t, const Tensor& dy,
                                 const Tensor& input, IntSpan shape, const Tensor& weight, std::optional<double> eps,
                                 int64_t mask);
Tensor rms_norm_composite(const Tensor& input, IntSpan shape, const Tensor& weight, std::optional<double> eps);

ThreeTensors batch_norm_grads(const Tensor& dy, const Tensor& input, const Tensor& weight, const Tensor& running_mean,
                              const Tensor& running_var, const Tensor& mean, const Tensor& rstd, bool training,
                              double eps, int64_t wanted);
Tensor batch_norm_jvp(const Tensor& input_t, const Tensor& weight_t, const Tensor& bias_t, const Tensor& input,
                      const Tensor& weight, const Tensor& mean, const Tensor& var, bool training, double eps);
ThreeTensors batch_norm_double(std::span<Tensor> grads, const Tensor& dy, const Tensor& input, const Tensor& weight,
                               const Tensor& mean, const Tensor& var, bool training, double eps);
ThreeTensors batch_norm_backward_jvp(const Tensor& dy_t, const Tensor& input_t, const Tensor& weight_t,
                                     const Tensor& dy, const Tensor& input, const Tensor& weight, const Tensor& mean,
                                     const Tensor& var, bool training, double eps, int64_t mask);
Tensor instance_norm_composite(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                               double momentum, double eps);

ThreeTensors group_norm_grads(const Tensor& dy, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                              const Tensor& weight, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps,
                              int64_t wanted);
Tensor group_norm_jvp(const Tensor& input_t, const Tensor& weight_t, const Tensor& bias_t, const Tensor& input,
                      const Tensor& weight, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps);
ThreeTensors group_norm_double(std::span<Tensor> grads, const Tensor& dy, const Tensor& input, const Tensor& weight,
                               int64_t N, int64_t C, int64_t HxW, int64_t group, double eps);
ThreeTensors group_norm_backward_jvp(const Tensor& dy_t, const Tensor& input_t, const Tensor& weight_t,
                                     const Tensor& dy, const Tensor& input, const Tensor& weight, int64_t N, int64_t C,
                                     int64_t HxW, int64_t group, double eps, int64_t mask);
Tensor group_norm_composite(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                            double eps);

}  // namespace undertow::core::ops
