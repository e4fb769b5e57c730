// index_mask.cpp: launches of mask.cuh.
#include <algorithm>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/device/strided_host.h"
#include "core/kernels/cuda/index/index_launch.h"
#include "core/kernels/cuda/memory.h"
#include "core/tensor/layout.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate counts_kernel("index/mask.cuh", "mask_counts<>");
KernelTemplate add_up_kernel("index/mask.cuh", "add_up_counts<>");
KernelTemplate select_kernel("index/mask.cuh", "select_masked");
KernelTemplate put_kernel("index/mask.cuh", "put_masked");
KernelTemplate add_kernel("index/mask.cuh", "add_masked");
KernelTemplate nonzero_kernel("index/mask.cuh", "nonzero_indices<>");
KernelTemplate fill_kernel("index/mask.cuh", "fill_masked");

// How a row-major mask is divided among blocks, and the number of true elements before each; the last entry, in all.
struct MaskRuns {
  Tensor before;
  int64_t n, per_block, blocks;
  LaunchShape shape() const { return {.blocks = blocks, .threads = kIndexThreads}; }
  // Waits for the device.
  int64_t total() const {
    Tensor last = alias(before, {}, {}, before.storage_offset() + blocks, DType::Int64);
    return copy_kernels.item(last).to<int64_t>();
  }
};
MaskRuns runs_of(const Launcher& on, const Tensor& mask) {
  constexpr int64_t kTile = int64_t{kIndexThreads} * 8, kMostBlocks = 2048;
  MaskRuns r;
  r.n = mask.numel();
  const int64_t tiles = std::max<int64_t>(1, blocks_for(r.n, kTile));
  r.per_block = blocks_for(tiles, std::min(tiles, kMostBlocks)) * kTile;
  r.blocks = std::max<int64_t>(1, blocks_for(r.n, r.per_block));
  r.before = empty_on_device_of(mask, Dims{r.blocks + 1}, DType::Int64);
  const int blocks = static_cast<int>(r.blocks);
  on.run(counts_kernel, {}, r.shape(), r.before.data(), mask.data(), r.n, r.per_block);
  on.run(add_up_kernel, {}, {.blocks = 1, .threads = 1024}, r.before.data(), blocks);
  return r;
}

// A copy if the two share memory.
Tensor copy_if_overlapping(const Tensor& out, const Tensor& t) {
  if (&out.storage() != &t.storage()) return contiguous(t);
  Tensor copied = empty_on_device_of(t, t.sizes(), t.dtype());
  copy(copied, t);
  return copied;
}

}  // namespace

void masked_fill(const ElementwiseIter& iter, const Tensor& value) {
  if (iter.numel() == 0) return;
  Launcher on(iter.device().index);
  on.run(fill_kernel, {word_of(value.itemsize())}, shape_of_index(iter.numel()), iter.pointer(0), iter.pointer(1),
         iter.pointer(2), value.data(), iter.numel(), layout_of(iter));
}

Tensor masked_select(const Tensor& in, const Tensor& mask) {
  Launcher on(in);
  MaskRuns r = runs_of(on, mask);
  Tensor out = empty_on_device_of(in, Dims{r.total()}, in.dtype());
  if (out.numel())
    on.run(select_kernel, {word_of(in.itemsize())}, r.shape(), out.data(), in.data(), mask.data(), r.before.data(), r.n,
           r.per_block);
  return out;
}

void masked_scatter(const Tensor& out, const Tensor& mask, const Tensor& source) {
  if (out.numel() == 0) return;
  Launcher on(out);
  MaskRuns r = runs_of(on, mask);
  const int64_t available = source.numel();
  if (available < r.n) {  // otherwise the source is large enough for every mask
    const int64_t total = r.total();
    UT_CHECK(total <= available, "Number of elements of source < number of ones in mask: ", available, " < ", total);
  }
  on.run(put_kernel, {word_of(out.itemsize())}, r.shape(), out.data(), source.data(), mask.data(), r.before.data(), r.n,
         r.per_block, available);
}

bool put_masked(const Tensor& out, TensorSpan indices, const Tensor& values, bool accumulate) {
  if (indices.size() != 1 || indices[0].dtype() != DType::Bool || out.dim() == 0 || !out.is_contiguous() ||
      !same(indices[0].sizes(), out.sizes()) || indices[0].device() != out.device())
    return false;
  if (out.numel() == 0) return false;
  Launcher on(out);
  Tensor mask = copy_if_overlapping(out, indices[0]);
  if (values.numel() == 1 && !accumulate) {
    Tensor one = empty_on_device_of(out, {}, values.dtype());
    Tensor value = alias(values, {}, {}, values.storage_offset(), values.dtype());
    if (values.device() == out.device())
      copy(one, value);
    else
      copy_kernels.copy_across(one, value);
    ElementwiseIter iter;
    iter.add_output(out, out.dtype());
    iter.add_input(out);
    iter.add_input(mask);
    iter.build();
    masked_fill(iter, one);
    return true;
  }
  if (values.dim() != 1 || values.device() != out.device()) return false;
  MaskRuns r = runs_of(on, mask);
  if (values.numel() != r.total()) return false;
  if (values.numel() == 0) return true;
  Tensor from = copy_if_overlapping(out, values);
  if (accumulate)
    on.run(add_kernel, {out.dtype()}, r.shape(), out.data(), from.data(), mask.data(), r.before.data(), r.n,
           r.per_block);
  else
    on.run(put_kernel, {word_of(out.itemsize())}, r.shape(), out.data(), from.data(), mask.data(), r.before.data(), r.n,
           r.per_block, from.numel());
  return true;
}

Tensor nonzero(const Tensor& mask) {
  Launcher on(mask);
  MaskRuns r = runs_of(on, mask);
  const int64_t total = r.total(), nd = mask.dim();
  // Stored column-major, so that each dimension's indices are contiguous.
  Tensor out = empty_strided_on_device_of(mask, Dims{total, nd}, Dims{1, total}, DType::Int64);
  if (total == 0 || nd == 0) return out;
  UT_CHECK(nd <= Nest::kMost, "nonzero: a CUDA tensor may have at most ", Nest::kMost, " dimensions, got ", nd);
  Nest nest = empty_nest();
  nest.ndim = static_cast<int>(nd);
  for (int64_t d = 0; d < nd; d++) nest.sizes[d] = mask.size(d);
  on.run(nonzero_kernel, {}, r.shape(), out.data(), mask.data(), r.before.data(), r.n, r.per_block, total, nest);
  return out;
}

}  // namespace undertow::core::cuda
