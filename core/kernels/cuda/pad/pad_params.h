// pad_params.h: parameters of the kernels in pad.cuh. Included by the host and the device; the includer has defined
// int64_t.
#pragma once

namespace undertow {

// One dimension: see PadAxis in kernels/pad.h.
struct PaddedAxis {
  int64_t in, out, left;
  int64_t begin, from, inside;  // of the copied elements: where they are in the output, in the input, how many
};
struct PaddedVolume {
  PaddedAxis axes[3];
  int64_t in_plane, out_plane;
};
struct PaddedDims {
  static constexpr int kMost = 16;
  int ndim;
  int64_t in[kMost], out[kMost], left[kMost];  // outermost first
};

}  // namespace undertow
