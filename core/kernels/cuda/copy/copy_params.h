// copy_params.h: the parameters of transposing copies. Included by the host and by device code; the includer has
// defined int64_t.
#pragma once
#ifdef __CUDACC__
#include "device/loop_nest_layout.h"
#else
#include "core/kernels/cuda/device/loop_nest_layout.h"
#endif

namespace undertow {

inline constexpr unsigned kTransposeThreads = 256;
constexpr int transpose_tile(int width) { return width >= 4 ? 32 : 64; }

// The dimension in which the destination is dense has size_to elements and from_stride bytes between them in the
// source; the one in which the source is dense has size_from elements and to_stride bytes between them in the
// destination.
struct TransposedCopy {
  uint32_t size_to, size_from;
  int64_t from_stride, to_stride;
  Divisor tiles_to, tiles_from;
  LoopNest<2> planes;  // the other dimensions: destination, source
};

}  // namespace undertow
