// loop_nest_layout.h: the merged loop nest of an ElementwiseIter as a kernel's parameter, for at most 2^31 elements.
// Included by the host and by device code, so it uses no other header; the includer has defined int64_t.
#pragma once
#ifdef __CUDACC__
#include "device/divisor_layout.h"
#else
#include "core/kernels/cuda/device/divisor_layout.h"
#endif

namespace undertow {

template <int operands>
struct LoopNest {
  static constexpr int kMaxDims = 12;
  int ndim;
  Divisor sizes[kMaxDims];              // innermost first
  int64_t strides[operands][kMaxDims];  // in bytes
};

}  // namespace undertow
