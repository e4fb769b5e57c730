// strided.cuh: where the elements of strided operands are: the merged loop nest of an ElementwiseIter.
#pragma once
#include "device/prelude.cuh"
// After prelude.cuh, which defines int64_t.
#include "device/strided_layout.h"

namespace undertow {

// The byte offset of element i in each of `operands` operands.
template <int operands>
UT_DEVICE void offsets_of(const StridedLayout& layout, uint64_t i, int64_t (&offsets)[operands]) {
  for (int k = 0; k < operands; k++) offsets[k] = 0;
  for (int d = 0; d < layout.ndim; d++) {
    uint64_t size = layout.sizes[d], next, at;
    // A 32-bit division is several times cheaper than a 64-bit one.
    if ((i | size) >> 32) {
      next = i / size;
      at = i - next * size;
    } else {
      uint32_t narrow = static_cast<uint32_t>(i) / static_cast<uint32_t>(size);
      next = narrow;
      at = static_cast<uint32_t>(i) - narrow * static_cast<uint32_t>(size);
    }
    for (int k = 0; k < operands; k++) offsets[k] += static_cast<int64_t>(at) * layout.strides[k][d];
    i = next;
    if (i == 0) break;
  }
}

}  // namespace undertow
