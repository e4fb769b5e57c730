// index_mask.h: elements selected by a mask, for the table in index.cpp. See IndexKernels.
#pragma once
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

void masked_fill(const ElementwiseIter& iter, const Tensor& value);
void masked_scatter(const Tensor& out, const Tensor& mask, const Tensor& source);
bool put_masked(const Tensor& out, TensorSpan indices, const Tensor& values, bool accumulate);
Tensor masked_select(const Tensor& in, const Tensor& mask);
Tensor nonzero(const Tensor& mask);

}  // namespace undertow::core::cpu
