// topk.h: the kernel of topk; see core/kernels/sort.h.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

void topk(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool largest, bool sorted);

}  // namespace undertow::core::cpu
