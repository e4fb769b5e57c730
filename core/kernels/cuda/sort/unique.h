// unique.h: distinct elements and rows. See SortKernels.
#pragma once
#include "core/kernels/sort.h"

namespace undertow::core::cuda {

UniqueElements unique(const Tensor& in, bool sort, bool inverse, bool counts);
UniqueElements unique_rows(const Tensor& rows, bool sort, bool inverse, bool counts);

}  // namespace undertow::core::cuda
