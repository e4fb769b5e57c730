// select.h: selects one element of each line and its index.
#pragma once
#include "core/kernels/reduce.h"

namespace undertow::core::cuda {

void median(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool ignore_nan);
void kthvalue(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, int64_t k);
void mode(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d);

}  // namespace undertow::core::cuda
