// windows.h: the windows of pooling, axis by axis: which elements they hold, and checks of their geometry.
// Knows sizes only; does not know what is computed of a window.
#pragma once
#include <vector>

#include "core/forward/planes.h"
#include "core/kernels/cpu/pool/pool_kernels.h"
#include "core/tensor/layout.h"

namespace undertow::fwd {

// Window o of an axis holds first[o], first[o] + step, ... below last[o].
struct Windows {
  int64_t in = 1, step = 1;
  std::vector<int64_t> first{0}, last{1};
  int64_t out() const { return static_cast<int64_t>(first.size()); }
};

// The three axes of a plane, outermost first; where the windows are a regular grid, as the kernels know it.
struct Pooling {
  Windows axis[3];
  bool regular = false;
  cpu::PoolAxis grid[3];
  int64_t planes = 0, in_plane = 1, out_plane = 1;
  Dims sizes;  // of the result

  void finish(IntSpan in, int64_t spatial);
};

// Windows of a given kernel; refuses what torch refuses, in its words. `name` is the operator's.
Pooling kernel_windows(const Tensor& self, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding,
                       IntSpan dilation, bool ceil_mode, const char* name);
// The same for a result of known sizes, without checks: what derivatives need.
Pooling known_windows(IntSpan in, IntSpan out, int64_t spatial, IntSpan kernel, IntSpan stride, IntSpan padding);
// A given number of windows, evenly spread.
Pooling adaptive_windows(IntSpan in, int64_t spatial, IntSpan output_size, const char* name);
// The size of an axis' result.
int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode);

}  // namespace undertow::fwd
