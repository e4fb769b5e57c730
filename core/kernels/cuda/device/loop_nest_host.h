// loop_nest_host.h: fills LoopNests on the host, and divides iterations that are too large for one kernel.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/kernels/cuda/device/loop_nest_layout.h"
#include "core/tensor/elementwise_iter.h"

namespace undertow::core::cuda {

using undertow::Divisor;
using undertow::divisor_of;
using undertow::LoopNest;

inline constexpr int64_t kMaxLoop = INT32_MAX;  // elements of one kernel's LoopNest

// The operands of a loop nest that is being divided: sizes innermost first, byte strides, pointers.
template <int operands>
struct Loop {
  Dims sizes;
  Dims strides[operands];
  char* pointers[operands];

  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
  }
  LoopNest<operands> nest() const {
    LoopNest<operands> out;
    out.ndim = static_cast<int>(sizes.size());
    for (size_t d = 0; d < sizes.size(); d++) {
      out.sizes[d] = divisor_of(sizes[d]);
      for (int k = 0; k < operands; k++) out.strides[k][d] = strides[k][d];
    }
    return out;
  }
};

// Operands that the iterator does not have are null with stride 0.
template <int operands>
Loop<operands> loop_of(const ElementwiseIter& iter) {
  Loop<operands> loop;
  loop.sizes = Dims(iter.dims());
  for (int k = 0; k < operands; k++) {
    bool exists = k < iter.count();
    loop.strides[k] = exists ? Dims(iter.byte_strides(k)) : Dims(loop.sizes.size(), 0);
    loop.pointers[k] = exists ? iter.pointer(k) : nullptr;
  }
  return loop;
}

// Calls run(loop) for parts that a LoopNest can describe: few enough elements and dimensions.
template <int operands, class Run>
void for_each_part(const Loop<operands>& loop, Run&& run) {
  bool deep = loop.sizes.size() > LoopNest<operands>::kMaxDims;
  if (!deep && loop.numel() <= kMaxLoop) return run(loop);
  Loop<operands> part = loop;
  size_t last = loop.sizes.size() - 1;
  int64_t size = loop.sizes[last], inner = loop.numel() / size;
  int64_t step = deep ? 1 : std::max<int64_t>(1, kMaxLoop / inner);
  for (int64_t at = 0; at < size; at += step) {
    part.sizes[last] = std::min(step, size - at);
    for (int k = 0; k < operands; k++) part.pointers[k] = loop.pointers[k] + at * loop.strides[k][last];
    if (part.sizes[last] > 1) {
      for_each_part(part, run);
      continue;
    }
    Loop<operands> flat = part;
    flat.sizes.pop_back();
    for (int k = 0; k < operands; k++) flat.strides[k].pop_back();
    for_each_part(flat, run);
  }
}

}  // namespace undertow::core::cuda
