// lines_params.h: the parameters of copy_lines. Included by the host and by device code; the includer has defined
// int64_t.
#pragma once
#ifdef __CUDACC__
#include "device/divisor_layout.h"
#else
#include "core/kernels/cuda/device/divisor_layout.h"
#endif

namespace undertow {

inline constexpr unsigned kLineThreads = 256;
inline constexpr int kLinePacks = 4;  // of a thread; 16 bytes each

struct CopiedLines {
  int64_t lines, length;  // that are copied; what is written beyond them are zeros
  int64_t filled;         // elements of a line that are written
  int64_t from_distance, to_distance;
  uint32_t packs;  // of 16 bytes, in all lines that are written
  Divisor packs_of_line;
};

}  // namespace undertow
