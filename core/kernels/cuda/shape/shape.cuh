// shape.cuh: adds the elements of a strided view to the memory they are views of.
#pragma once
#include "device/complex.cuh"
// After prelude.cuh, which defines int64_t.
#include "shape/shape_params.h"

namespace undertow {

// One thread per element of the output. It visits the indices whose offset is its own, in a fixed order: at each
// dimension only those that the smaller strides can still complete.
template <class T>
__global__ void strided_sum(T* out, const T* in, StridedSum p, int64_t n) {
  using Math = OpMath<T>;
  for (int64_t e = thread_number(); e < n; e += thread_count()) {
    int64_t index[StridedSum::kMaxDims], last[StridedSum::kMaxDims];
    int64_t rest = e - p.offset, from = 0;
    if (rest < 0) continue;
    Math sum = static_cast<Math>(out[e]);
    bool any = false;
    for (int d = 0; d >= 0;) {
      if (d == p.ndim) {
        if (rest == 0) {
          any = true;
          if constexpr (kSame<T, bool>)
            sum = sum || in[from];
          else
            sum = sum + static_cast<Math>(in[from]);
        }
      } else {
        // The first index that leaves no more than the reach of the others, and the last that leaves something.
        const int64_t step = p.to[d], missing = rest - p.reach[d];
        index[d] = step == 0 || missing <= 0 ? 0 : (missing + step - 1) / step;
        last[d] = step == 0 ? p.sizes[d] - 1 : least_of<int64_t>(p.sizes[d] - 1, rest / step);
        if (index[d] <= last[d]) {
          rest -= index[d] * step;
          from += index[d] * p.from[d];
          d++;
          continue;
        }
      }
      // Back to the next index of an outer dimension.
      for (d--; d >= 0; d--) {
        if (index[d] < last[d]) {
          index[d]++;
          rest -= p.to[d];
          from += p.from[d];
          d++;
          break;
        }
        rest += index[d] * p.to[d];
        from -= index[d] * p.from[d];
      }
    }
    if (any) out[e] = static_cast<T>(sum);
  }
}

}  // namespace undertow
