// pool_loops.h: the largest element and the sum of every window of one plane, compiled once per instruction set.
// Windows are a regular grid: window o of an axis holds o * stride - padding + k * dilation for k below `kernel`,
// what lies outside [0, in) left out. Every window must hold an element.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::cpu {

struct PoolAxis {
  int64_t in, out, kernel, stride, padding, dilation;
};

struct PoolSpan {
  int64_t begin, end;
};
// The k for which window o of an axis holds an element.
PoolSpan taps_of_window(const PoolAxis& a, int64_t o);
// The windows o that hold an element by their tap k.
PoolSpan windows_of_tap(const PoolAxis& a, int64_t k);

// A plane of up to three dimensions, outermost first; missing ones are {1, 1, 1, 1, 0, 1}.
struct PoolGrid {
  PoolAxis axis[3];
  const int32_t* first;     // of each window along axis[2], its first element
  const PoolSpan* columns;  // of each tap k along axis[2], windows_of_tap
};

// Where the windows of small planes stand, tap by tap: at[k * stride + o] is the place of tap k of window o, counted
// from the first of several planes that lie one after the other, as their windows do in the result. See Note [Tables Of
// Windows] in window_table.h.
struct PoolTable {
  const int32_t* at;
  int64_t taps, stride;
};

template <class T>
struct PoolLoops {
  // best: out elements; index: where in the plane the first largest element stands (of NaNs, the last). `row`: room for
  // axis[2].out numbers. The plane has less than 2^31 elements.
  void (*largest)(const PoolGrid& g, const T* plane, T* best, int64_t* index, int32_t* row);
  // Window sums divided by scale * width[o], o along the last axis; `scale` by the other two axes: depth[z] *
  // height[y].
  void (*average)(const PoolGrid& g, const T* plane, T* out, const T* depth, const T* height, const T* width);
  // The same for the first `windows` windows of a table; places count from `planes` on, and all sums are divided by one
  // number.
  void (*largest_at)(const PoolTable& t, int64_t windows, const T* planes, T* best, int32_t* place);
  void (*average_at)(const PoolTable& t, int64_t windows, const T* planes, T divisor, T* out);
};

UNDERTOW_FOR_EACH_ISA(const PoolLoops<float>& pool_float(); const PoolLoops<double>& pool_double();)

}  // namespace undertow::cpu
