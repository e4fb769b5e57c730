// shape.cpp: the CUDA backend's ShapeKernels: adds elements into memory at strided offsets that may repeat.
#include "core/kernels/cuda/shape/shape.h"

#include <algorithm>

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/shape/shape_params.h"

namespace undertow::core::cuda {

namespace {

using undertow::StridedSum;

KernelTemplate strided_sum_kernel("shape/shape.cuh", "strided_sum");

void strided_sum(const Tensor& out, const Tensor& in, IntSpan strides, int64_t offset) {
  if (in.numel() == 0) return;
  SmallVector<size_t, 8> order;
  for (size_t d = 0; d < strides.size(); d++)
    if (in.sizes()[d] > 1) order.push_back(d);
  UT_CHECK(order.size() <= StridedSum::kMaxDims, "as_strided on CUDA handles at most ", StridedSum::kMaxDims,
           " dimensions that are not 1 in its gradient, got ", order.size());
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  StridedSum p;
  p.ndim = static_cast<int>(order.size());
  p.offset = offset;
  int64_t reach = 0;
  for (size_t k = order.size(); k-- > 0;) {
    size_t d = order[k];
    p.sizes[k] = in.sizes()[d];
    p.to[k] = strides[d];
    p.from[k] = in.strides()[d];
    p.reach[k] = reach;
    reach += strides[d] * (in.sizes()[d] - 1);
  }
  constexpr unsigned threads = 128;
  Launcher(out).run(strided_sum_kernel, {in.dtype()},
                    {.blocks = std::min<int64_t>(blocks_for(out.numel(), threads), 65536), .threads = threads},
                    out.data(), in.data(), p, out.numel());
}

}  // namespace

const ShapeKernels shape_kernels = {.strided_sum = strided_sum};

}  // namespace undertow::core::cuda
