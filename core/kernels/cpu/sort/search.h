// search.h: see SortKernels.
#pragma once
#include <utility>

#include "core/tensor/tensor.h"

namespace undertow::core::cpu {

void searchsorted(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& sorter, bool right);
void histc(const Tensor& out, const Tensor& in, double low, double high);
std::pair<int64_t, int64_t> extent(const Tensor& in);
void bincount(const Tensor& out, const Tensor& in, const Tensor& weights);

}  // namespace undertow::core::cpu
