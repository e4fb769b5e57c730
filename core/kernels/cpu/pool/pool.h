// pool.h: what the CPU's pooling kernels share. They are in average.cpp and max.cpp, their table in max.cpp.
#pragma once
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/pool/pool_loops.h"
#include "core/kernels/pool.h"

namespace undertow::core::cpu {

inline const PoolLoops<float>& pool_loops(float) { return UNDERTOW_CHOOSE_ISA(pool_float()); }
inline const PoolLoops<double>& pool_loops(double) { return UNDERTOW_CHOOSE_ISA(pool_double()); }

inline PoolAxis axis_of(const WindowGrid& g) { return {g.in, g.out, g.kernel, g.stride, g.padding, g.dilation}; }

// Calls compute(to) for a row-major tensor of dtype `wide`: out itself, or a temporary that is converted to it.
template <class F>
void in_wide(const Tensor& out, DType wide, F&& compute) {
  if (out.dtype() == wide) return compute(out);
  Tensor to = empty(out.sizes(), wide, kCpu);
  compute(to);
  if (to.numel()) copy(out, to);
}

void average(const Tensor& out, const Tensor& in, const Pooling& p, const AverageBy& by);
void average_backward(const Tensor& grad_input, const Tensor& grad_output, const Pooling& p, const AverageBy& by);

}  // namespace undertow::core::cpu
