// elementwise_walk.h: runs a loop over the operands of an ElementwiseIter in parallel, one innermost run at a time.
// Knows the loop nest, not what is computed.
#pragma once
#include <algorithm>

#include "core/base/parallel.h"
#include "core/tensor/elementwise_iter.h"

namespace undertow::core::cpu {

// Elements [begin, end), counted along the innermost dimension first, of the loop nest without its `first` innermost
// dimensions.
template <class Loop>
void walk_part(const ElementwiseIter& iter, int64_t begin, int64_t end, Loop& loop, size_t first = 0) {
  const IntSpan dims = iter.dims().subspan(first);
  const int64_t nd = static_cast<int64_t>(dims.size());
  const int count = iter.count();
  char* p[kMaxOperands];
  const int64_t* strides[kMaxOperands];
  int64_t inner[kMaxOperands];
  for (int k = 0; k < count; k++) {
    strides[k] = iter.byte_strides(k).data() + first;
    inner[k] = nd ? strides[k][0] : 0;
  }
  int64_t index[64];
  int64_t rest = begin;
  for (int64_t d = 0; d < nd; d++) {
    index[d] = rest % dims[d];
    rest /= dims[d];
  }
  for (int k = 0; k < count; k++) {
    p[k] = iter.pointer(k);
    for (int64_t d = 0; d < nd; d++) p[k] += index[d] * strides[k][d];
  }
  for (int64_t at = begin;;) {
    int64_t n = nd ? std::min(dims[0] - index[0], end - at) : 1;
    loop(p, inner, n);
    at += n;
    if (at >= end) break;
    // Moves to the start of the next run. Only the first run of a chunk can start in the middle, at index[0].
    for (int k = 0; k < count; k++) p[k] += strides[k][1] - index[0] * inner[k];
    index[0] = 0;
    index[1]++;
    for (int64_t d = 1; d + 1 < nd && index[d] == dims[d]; d++) {
      for (int k = 0; k < count; k++) p[k] += strides[k][d + 1] - dims[d] * strides[k][d];
      index[d] = 0;
      index[d + 1]++;
    }
  }
}

// loop(char* const* pointers, const int64_t* byte_strides, int64_t n) is called for runs along the innermost dimension.
template <class Loop>
void walk(const ElementwiseIter& iter, Loop&& loop, int64_t grain = kParallelGrain) {
  if (iter.numel() == 0) return;
  parallel_for(0, iter.numel(), grain, [&](int64_t begin, int64_t end) { walk_part(iter, begin, end, loop); });
}

}  // namespace undertow::core::cpu
