// fold.h: reduces a tensor over any set of dimensions.
#pragma once
#include "core/kernels/reduce.h"

namespace undertow::core::cuda {

void fold(const Tensor& out, const Tensor& in, uint64_t mask, Fold op);
void mean(const Tensor& out, const Tensor& in, uint64_t mask, double n);

}  // namespace undertow::core::cuda
