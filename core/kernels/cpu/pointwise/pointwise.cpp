// pointwise.cpp: the CPU's PointwiseKernels: an operator's loop over runs of elements.
#include "core/kernels/pointwise.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/elementwise_walk.h"

namespace undertow::cpu {

namespace {
void run(const PointwiseOp& op, DType compute, const ElementwiseIter& iter, const Scalar* params) {
  LoopFn loop = op.loop(compute);
  walk(iter, [&](char* const* p, const int64_t* strides, int64_t n) { loop(p, strides, n, params); });
}
}  // namespace

constinit const PointwiseKernels pointwise_kernels = {.run = run};

}  // namespace undertow::cpu
