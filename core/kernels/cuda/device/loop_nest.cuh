// loop_nest.cuh: where element number i of a loop nest is in each operand.
#pragma once
#include "device/prelude.cuh"
// After prelude.cuh, which defines int64_t.
#include "device/loop_nest_layout.h"

namespace undertow {

UT_DEVICE uint32_t divide_by(uint32_t n, const Divisor& d) { return (__umulhi(n, d.factor) + n) >> d.shift; }

template <int operands>
UT_DEVICE void offsets_in(const LoopNest<operands>& nest, uint32_t i, int64_t (&offsets)[operands]) {
#pragma unroll
  for (int k = 0; k < operands; k++) offsets[k] = 0;
#pragma unroll 1
  for (int d = 0; d < nest.ndim; d++) {
    uint32_t next = d + 1 < nest.ndim ? divide_by(i, nest.sizes[d]) : 0;
    int64_t at = i - next * nest.sizes[d].value;
#pragma unroll
    for (int k = 0; k < operands; k++) offsets[k] += at * nest.strides[k][d];
    i = next;
  }
}

}  // namespace undertow
