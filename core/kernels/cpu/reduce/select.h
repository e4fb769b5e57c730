// select.h: see ReduceKernels.
#pragma once
#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

void median(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool ignore_nan);
void kthvalue(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, int64_t k);
void mode(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d);

}  // namespace undertow::core::cpu
