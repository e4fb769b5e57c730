// reduce.h: derivatives and compositions of reductions, scans, sorts, softmax and losses.
// Each function is differentiable: it calls operators only.
#pragma once
#include "core/autograd/op_types.h"

namespace undertow::ops {

Tensor sum_to_composite(const Tensor& self, IntSpan size);
Tensor expand_reduced(const Tensor& grad, IntSpan sizes, const std::optional<IntSpan>& dim, bool keepdim);

}  // namespace undertow::ops
