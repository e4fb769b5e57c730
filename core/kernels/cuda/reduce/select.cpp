// select.cpp: see select.h. Sorts the lines, then picks from them: among equal elements, the index of one of them.
#include "core/kernels/cuda/reduce/select.h"

#include "core/kernels/cuda/compile/kernel.h"
#include "core/kernels/cuda/reduce/select_params.h"
#include "core/kernels/cuda/sort/sort.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate select_sorted("reduce/select.cuh", "select_sorted");

void select(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, undertow::SelectWhat what,
            int64_t k) {
  if (values.numel() == 0) return;
  undertow::SelectShape s{1, in.size(d), 1, k, what};
  for (int64_t i = 0; i < in.dim(); i++)
    if (i != d) (i < d ? s.outer : s.inner) *= in.size(i);
  Tensor sorted = empty_on_device_of(in, in.sizes(), in.dtype()),
         order = empty_on_device_of(in, in.sizes(), DType::Int64);
  sort_kernels.sort(sorted, order, in, d, false);
  constexpr unsigned threads = 128;
  Launcher(in).run(select_sorted, {in.dtype()}, {.blocks = blocks_for(values.numel(), threads), .threads = threads},
                   values.data(), indices.data(), sorted.data(), order.data(), s);
}

}  // namespace

void median(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool ignore_nan) {
  select(values, indices, in, d, ignore_nan ? undertow::kSelectNanMedian : undertow::kSelectMedian, 0);
}
void kthvalue(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, int64_t k) {
  select(values, indices, in, d, undertow::kSelectKth, k);
}
void mode(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d) {
  select(values, indices, in, d, undertow::kSelectMode, 0);
}

}  // namespace undertow::core::cuda
