// group_norm_params.h: the parameters of the kernels in group_norm.cuh. Included by the host and the device; the
// includer has defined int64_t.
#pragma once

namespace undertow {

// Row-major (batch, groups * per_group channels, inner).
struct GroupLayout {
  int64_t batch, channels, inner, groups, per_group;
};

}  // namespace undertow
