// unique.h: see SortKernels.
#pragma once
#include "core/kernels/sort.h"

namespace undertow::core::cpu {

UniqueElements unique(const Tensor& in, bool sort, bool inverse, bool counts);
UniqueElements unique_rows(const Tensor& rows, bool sort, bool inverse, bool counts);
void isin(const Tensor& out, const Tensor& in, const Tensor& among, bool invert);

}  // namespace undertow::core::cpu
