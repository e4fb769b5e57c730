// positions.cuh: positions become byte offsets; those out of range are reported and count as 0, so that later kernels
// stay inside the tensor.
#pragma once
#include "device/divide.cuh"
#include "device/errors.cuh"
#include "index/index_params.h"

namespace undertow {

UT_DEVICE bool in_range(const PositionList& list, int64_t& position) {
  if (list.may_wrap && position < 0) position += list.size;
  return position >= 0 && position < list.size;
}

// Element k's offset along the listed dimension.
UT_DEVICE int64_t offset_at(const PositionList& list, DeviceErrorSlot* slot, int64_t k) {
  int64_t position = list.at[k];
  if (in_range(list, position)) return position * list.stride;
  report_error(slot, list.raise, list.at[k], list.dim, list.size);
  return 0;
}

// The byte offset of element i of a nest in each operand.
template <int operands>
UT_DEVICE void offsets_in(const Nest& nest, uint64_t i, int64_t (&offsets)[operands]) {
  for (int k = 0; k < operands; k++) offsets[k] = 0;
  for (int d = nest.ndim - 1; d >= 0; d--) {
    if (d == 0) {  // nothing is left to divide by
      for (int k = 0; k < operands; k++) offsets[k] += static_cast<int64_t>(i) * nest.strides[k][0];
      return;
    }
    const Divided next = divided(static_cast<int64_t>(i), nest.sizes[d]);
    for (int k = 0; k < operands; k++) offsets[k] += next.rest * nest.strides[k][d];
    i = static_cast<uint64_t>(next.whole);
  }
}

}  // namespace undertow
