// resample_params.h: one resampled axis as a kernel's parameter. Included by the host and the device; the includer has
// defined int64_t.
#pragma once

namespace undertow {

struct ResampledAxis {
  int64_t in, out;
  int filter;  // of Resampling::Filter
  bool antialias, align_corners;
  double step;         // between neighbouring outputs, in input elements
  float nearest_step;  // the same for the nearest elements, rounded as in torch
};
struct NearestPlanes {
  ResampledAxis axis[3];  // outermost first
  int64_t in_plane, out_plane;
};

}  // namespace undertow
