// embedding.h: derivatives of embedding_bag, and its public form.
// Each function is differentiable: it calls only operators. Tangents may be undefined.
#pragma once
#include <tuple>

#include "core/autograd/op_types.h"

namespace undertow::core::ops {

Tensor bag_grad(const Tensor& grad, IntSpan sizes, const Tensor& indices, const Tensor& bags, const Tensor& counts,
                const Tensor& maxima, bool by_freq, int64_t mode, const Tensor& scales, int64_t padding_idx,
                bool sparse);
Tensor bag_scales_grad(const Tensor& grad, const Tensor& weight, const Tensor& indices, const Tensor& bags,
                       int64_t padding_idx);
Tensor bag_jvp(const Tensor& weight_t, const Tensor& scales_t, const Tensor& weight, const Tensor& indices,
               const Tensor& bags, const Tensor& counts, const Tensor& maxima, int64_t mode, const Tensor& scales,
               int64_t padding_idx);
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_composite(const Tensor& weight, const Tensor& indices,
                                                                   const Tensor& offsets, bool by_freq, int64_t mode,
                                                                   bool sparse, const Tensor& scales, bool last,
                                                                   std::optional<int64_t> padding_idx);

}  // namespace undertow::core::ops
