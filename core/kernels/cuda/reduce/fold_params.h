// fold_params.h: the parameters of the reduction kernels. Included by the host and by device code; the includer has
// defined int64_t.
#pragma once
#ifdef __CUDACC__
#include "device/loop_nest_layout.h"
#else
#include "core/kernels/cuda/device/loop_nest_layout.h"
#endif

namespace undertow {

inline constexpr unsigned kFoldThreads = 256;
inline constexpr int kFoldUnroll = 4;  // loads of a thread that are under way at once

struct FoldParams {
  int64_t count;  // elements per output
  int64_t chunk;  // of them, those of one part
  uint32_t outputs, parts;
  uint32_t lanes;       // rows: threads per output. columns: threads side by side
  LoopNest<2> kept;     // outputs: byte offsets in the input and in the output
  LoopNest<1> reduced;  // byte offsets in the input
  double divisor;       // of floating results, unless it is 1
};

}  // namespace undertow
