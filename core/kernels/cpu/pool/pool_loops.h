// pool_loops.h: the largest element and the sum of every window of one plane, compiled once per instruction set.
// Windows are a regular grid: window o of an axis contains o * stride - padding + k * dilation for k below `kernel`,
// clipped to [0, in). A window of a table must contain an element; one of a grid without elements has the maximum -inf.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

struct PoolAxis {
  int64_t in, out, kernel, stride, padding, dilation;
};

struct PoolSpan {
  int64_t begin, end;
};
// The k for which window o of an axis contains an element.
PoolSpan taps_of_window(const PoolAxis& a, int64_t o);
// The windows o that contain an element at their tap k.
PoolSpan windows_of_tap(const PoolAxis& a, int64_t k);

// A plane of up to three dimensions, outermost first; missing ones are {1, 1, 1, 1, 0, 1}.
struct PoolGrid {
  PoolAxis axis[3];
  const int32_t* first;     // the first element of each window along axis[2]
  const PoolSpan* columns;  // windows_of_tap for each tap k along axis[2]
};

// The positions of the windows of small planes, tap by tap: at[k * stride + o] is the position of tap k of window o,
// counted from the first of several consecutive planes, whose windows are consecutive in the result too. See Note
// [Tables Of Windows] in window_table.h.
struct PoolTable {
  const int32_t* at;
  int64_t taps, stride;
};

template <class T>
struct PoolLoops {
  // best: out elements; index: the index in the plane of the first largest element (or of the last NaN). `row`: scratch
  // for axis[2].out numbers. The plane has fewer than 2^31 elements.
  void (*largest)(const PoolGrid& g, const T* plane, T* best, int64_t* index, int32_t* row);
  // best[o] = from[o * stride] where that is larger or NaN, for n windows; null for double.
  void (*larger)(const T* from, int64_t stride, T* best, int64_t n);
  // Window sums divided by depth[z] * height[y] * width[o], where o is the index along the last axis.
  void (*average)(const PoolGrid& g, const T* plane, T* out, const T* depth, const T* height, const T* width);
  // The same for the first `windows` windows of a table; positions count from `planes`, and all sums have the same
  // divisor.
  void (*largest_at)(const PoolTable& t, int64_t windows, const T* planes, T* best, int32_t* place);
  void (*average_at)(const PoolTable& t, int64_t windows, const T* planes, T divisor, T* out);
};

UNDERTOW_FOR_EACH_ISA(const PoolLoops<float>& pool_float(); const PoolLoops<double>& pool_double();)

}  // namespace undertow::core::cpu
