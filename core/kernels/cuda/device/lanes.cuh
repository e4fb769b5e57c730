// lanes.cuh: values of any type pass between the lanes of a warp.
#pragma once
#include "device/complex.cuh"

namespace undertow {

// The value of the lane `by` above this one, in the same warp; beyond the last lane, this one's own.
template <class T>
UT_DEVICE T from_lane_above(T v, int by) {
  if constexpr (kIsComplex<T>)
    return T(from_lane_above(v.re, by), from_lane_above(v.im, by));
  else if constexpr (sizeof(T) < 4)
    return static_cast<T>(__shfl_down_sync(0xffffffffu, static_cast<int>(v), by));
  else
    return __shfl_down_sync(0xffffffffu, v, by);
}
// The value of the lane `by` below this one; before the first lane, this one's own.
template <class T>
UT_DEVICE T from_lane_below(T v, int by) {
  if constexpr (kIsComplex<T>)
    return T(from_lane_below(v.re, by), from_lane_below(v.im, by));
  else if constexpr (sizeof(T) < 4)
    return static_cast<T>(__shfl_up_sync(0xffffffffu, static_cast<int>(v), by));
  else
    return __shfl_up_sync(0xffffffffu, v, by);
}

}  // namespace undertow
