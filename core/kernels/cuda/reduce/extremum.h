// extremum.h: the largest or least element of each line and its first index.
#pragma once
#include "core/kernels/reduce.h"

namespace undertow::core::cuda {

void extremum(const Tensor& values, const Tensor& at, const Tensor& in, int64_t d, bool max);

}  // namespace undertow::core::cuda
