// finish_params.h: the parameters of the kernels of finish.cuh. Included by the host and by device code; the includer
// has defined int64_t.
#pragma once

namespace undertow {

struct AddTerms {
  static constexpr int kMost = 32;
  const void* from[kMost];
  int count;
};

// `in` is row-major around the dimension, with byte strides.
struct FirstIndex {
  int64_t outputs, inner, size, chunk;
  int64_t outer_stride, inner_stride, stride;
};

}  // namespace undertow
