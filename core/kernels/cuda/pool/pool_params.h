// pool_params.h: the windows of a pooling as a kernel's parameter. Included by the host and the device; the includer
// has defined int64_t.
#pragma once

namespace undertow {

struct DeviceErrorSlot;

// Regular windows: see WindowGrid in kernels/pool.h. Adaptive ones divide `in` elements into `out` parts.
struct PoolAxis {
  int64_t in, out, kernel, stride, padding, dilation;
  bool adaptive;
};
struct PoolShape {
  PoolAxis axis[3];  // outermost first
  int64_t in_plane, out_plane;
};

// What the sum of a window is divided by: `divisor`, or if that is 0, the number of its elements.
struct PoolDivisor {
  int64_t divisor;
  bool with_padding;
};

// Indices that point into planes; a wrong one is reported.
struct PoolIndices {
  const int64_t* at;
  int64_t n, pooled, full;
  DeviceErrorSlot* slot;
  int64_t raise;
};

}  // namespace undertow
