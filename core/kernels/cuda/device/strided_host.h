// strided_host.h: fills a StridedLayout from an ElementwiseIter, on the host.
#pragma once
#include <cstdint>

#include "core/kernels/cuda/device/strided_layout.h"
#include "core/tensor/elementwise_iter.h"

namespace undertow::core::cuda {

using undertow::StridedLayout;

inline StridedLayout layout_of(const ElementwiseIter& iter) {
  StridedLayout layout;
  IntSpan dims = iter.dims();
  UT_CHECK(dims.size() <= StridedLayout::kMaxDims, "a CUDA kernel handles at most ", StridedLayout::kMaxDims,
           " dimensions that cannot be merged, got ", dims.size());
  layout.ndim = static_cast<int>(dims.size());
  for (size_t d = 0; d < dims.size(); d++) {
    layout.sizes[d] = dims[d];
    for (int k = 0; k < iter.count(); k++) layout.strides[k][d] = iter.byte_strides(k)[d];
  }
  return layout;
}

}  // namespace undertow::core::cuda
