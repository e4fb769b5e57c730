// pool_grid.cpp: which elements a window of a regular grid holds. See pool_kernels.h.
#include "core/kernels/cpu/pool/pool_kernels.h"

namespace undertow::cpu {

namespace {
int64_t ceil_div(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }
}  // namespace

PoolSpan taps_of_window(const PoolAxis& a, int64_t o) {
  int64_t start = o * a.stride - a.padding, last = ceil_div(a.in - start, a.dilation);
  return {ceil_div(-start, a.dilation), last < a.kernel ? last : a.kernel};
}

PoolSpan windows_of_tap(const PoolAxis& a, int64_t k) {
  int64_t shift = k * a.dilation - a.padding, last = ceil_div(a.in - shift, a.stride);
  return {ceil_div(-shift, a.stride), last < a.out ? last : a.out};
}

}  // namespace undertow::cpu
