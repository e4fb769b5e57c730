// attention.h: scaled dot-product attention as a composition, and the derivatives of the tiled operator.
// Each function is differentiable: it calls only operators. Tangents may be undefined.
#pragma once
#include <span>
#include <tuple>

#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor attention_composite(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                           double dropout_p, bool causal, std::optional<double> scale, bool enable_gqa);
Tensor attention_math(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, double dropout_p,
                      bool causal, std::optional<double> scale, bool enable_gqa);

std::tuple<Tensor, Tensor, Tensor> attention_grads(const Tensor& dy, const Tensor& query, const Tensor& key,
                                                   const Tensor& value, const Tensor& output, const Tensor& lse,
                                                   bool causal, const Tensor& mask, std::optional<double> scale);
Tensor attention_jvp(const Tensor& query_t, const Tensor& key_t, const Tensor& value_t, const Tensor& query,
                     const Tensor& key, const Tensor& value, bool causal, const Tensor& mask,
                     std::optional<double> scale);
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_double(std::span<Tensor> grads, const Tensor& dy,
                                                            const Tensor& query, const Tensor& key, const Tensor& value,
                                                            bool causal, const Tensor& mask,
                                                            std::optional<double> scale);
std::tuple<Tensor, Tensor, Tensor> attention_backward_jvp(const Tensor& dy_t, const Tensor& query_t,
                                                          const Tensor& key_t, const Tensor& value_t, const Tensor& dy,
                                                          const Tensor& query, const Tensor& key, const Tensor& value,
                                                          bool causal, const Tensor& mask, std::optional<double> scale);

}  // namespace undertow::core::ops
