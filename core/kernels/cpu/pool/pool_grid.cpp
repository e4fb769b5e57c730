// pool_grid.cpp: which elements are in a window of a regular grid. See pool_loops.h.
#include "core/base/ceil_div.h"
#include "core/kernels/cpu/pool/pool_loops.h"

namespace undertow::core::cpu {

namespace {
// ceil_div for a range that may be empty.
int64_t parts_of(int64_t a, int64_t b) { return a <= 0 ? 0 : ceil_div(a, b); }
}  // namespace

PoolSpan taps_of_window(const PoolAxis& a, int64_t o) {
  int64_t start = o * a.stride - a.padding, last = parts_of(a.in - start, a.dilation);
  return {parts_of(-start, a.dilation), last < a.kernel ? last : a.kernel};
}

PoolSpan windows_of_tap(const PoolAxis& a, int64_t k) {
  int64_t shift = k * a.dilation - a.padding, last = parts_of(a.in - shift, a.stride);
  return {parts_of(-shift, a.stride), last < a.out ? last : a.out};
}

}  // namespace undertow::core::cpu
