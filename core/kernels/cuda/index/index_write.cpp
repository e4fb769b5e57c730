// index_write.cpp: launches of write.cuh.
#include <bit>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/device/strided_host.h"
#include "core/kernels/cuda/driver/cudnn.h"
#include "core/kernels/cuda/index/index_launch.h"
#include "core/kernels/cuda/sort/order.h"
#include "core/tensor/dtype/dispatch.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate set_kernel("index/write.cuh", "set_at_offsets");
KernelTemplate in_turn_kernel("index/write.cuh", "update_in_turn");
KernelTemplate sorted_kernel("index/write.cuh", "update_sorted");
KernelTemplate scatter_kernel("index/write.cuh", "scatter_elements");
KernelTemplate offsets_kernel("index/write.cuh", "scatter_offsets<>");
KernelTemplate add_rows_kernel("index/rows.cuh", "scatter_add_rows");
KernelTemplate lines_kernel("index/write.cuh", "scatter_lines");
KernelTemplate scale_kernel("index/write.cuh", "scale_elements");
KernelTemplate divide_kernel("index/write.cuh", "divide_by_counts");

// Names of the device's enum UpdateKind, in the order of Update.
const char* name_of(Update u) {
  static constexpr const char* kNames[] = {"Set", "Add", "Multiply", "Max", "Min"};
  return kNames[static_cast<size_t>(u)];
}
void check_update(DType t, Update u) {
  if (is_complex(t) && (u == Update::Max || u == Update::Min))
    UT_FAIL_AS(NotImplemented, "\"", u == Update::Max ? "amax" : "amin", "\" not implemented for '", long_name(t), "'");
}

// Real numbers whose arithmetic type has 4 or 8 bytes.
bool adds_in_shared_memory(DType t) {
  return (is_floating(t) && !is_storage(t)) || t == DType::Int32 || t == DType::Int64;
}

}  // namespace

bool wants_same_bits(DType dtype) {
  return !is_integral(dtype) && cudnn_settings().deterministic_algorithms.load(std::memory_order_relaxed);
}

void update_in_order(const Launcher& on, const Tensor& dst, const Tensor& offsets, const Tensor& src,
                     const Nest& others, int64_t others_count, const Nest& places, Update update) {
  const int64_t count = offsets.numel();
  // Offsets are multiples of the element's width and inside the storage.
  const int first_bit = std::countr_zero(static_cast<uint64_t>(dst.itemsize())),
            end_bit = static_cast<int>(std::bit_width(static_cast<uint64_t>(dst.storage().nbytes())));
  Tensor keys = alias(offsets, Dims{count}, Dims{1}, offsets.storage_offset(), DType::UInt64);
  Tensor order = order_of_keys(on, keys, first_bit, end_bit);
  on.run(sorted_kernel, {dst.dtype(), name_of(update)}, shape_of_index(count * others_count), dst.data(), src.data(),
         offsets.data(), order.data(), count, others_count, others, places);
}

void write(const Tensor& dst, const Tensor& offsets, int64_t first, const Tensor& src, Update update) {
  if (dst.numel() == 0) return;
  check_update(dst.dtype(), update);
  Launcher on(dst);
  const int64_t w = dst.itemsize(), index_dims = offsets.dim(), count = offsets.numel(),
                others_count = dst.numel() / count;
  auto is_index = [&](int64_t d) { return d >= first && d < first + index_dims; };
  if (update == Update::Set) {
    Nest nest = empty_nest();
    for (int64_t d = 0; d < dst.dim(); d++)
      add_dim(nest, dst.size(d), dst.stride(d) * w, src.stride(d) * w, is_index(d) ? offsets.stride(d - first) * 8 : 0);
    return on.run(set_kernel, {word_of(w)}, shape_of_index(dst.numel()), dst.data(), src.data(), offsets.data(),
                  dst.numel(), nest);
  }
  Nest others = empty_nest(), places = empty_nest();
  for (int64_t d = 0; d < dst.dim(); d++) {
    if (is_index(d))
      add_dim(places, dst.size(d), src.stride(d) * w);
    else
      add_dim(others, dst.size(d), dst.stride(d) * w, src.stride(d) * w);
  }
  constexpr int64_t kFew = 16, kMany = 64 * 1024;
  if (count <= kFew || (others_count >= kMany && count <= 64 * kFew))
    return on.run(in_turn_kernel, {dst.dtype(), name_of(update)}, shape_of_index(others_count), dst.data(), src.data(),
                  offsets.data(), count, others_count, others, places);
  update_in_order(on, dst, offsets, src, others, others_count, places, update);
}

void scatter(const Tensor& out, const Tensor& index, const Tensor& src, const IndexedDim& dim, Update update) {
  if (index.numel() == 0) return;
  const Tensor at = contiguous(index);
  check_update(out.dtype(), update);
  Launcher on(out);
  const int64_t w = out.itemsize(), count = at.dim() ? at.size(dim.dim) : 1;
  const bool one_value = src.dim() == 0;
  auto src_stride = [&](int64_t d) { return one_value ? 0 : src.stride(d) * w; };
  const PositionLists lists = lists_of(on, {&at, 1}, {&dim, 1});
  Nest nest = empty_nest();
  // Short lines, and elements too wide for atomic instructions, are written in index order.
  constexpr int64_t kShortLine = 16;
  if (update != Update::Set && (count <= kShortLine || w == 16)) {
    for (int64_t d = 0; d < at.dim(); d++)
      if (d != dim.dim) add_dim(nest, at.size(d), out.stride(d) * w, src_stride(d), at.stride(d) * 8);
    const int64_t lines = at.numel() / count, along = at.dim() ? src_stride(dim.dim) : 0,
                  index_along = at.dim() ? at.stride(dim.dim) * 8 : 0;
    return on.run(lines_kernel, {out.dtype(), name_of(update)}, shape_of_index(lines), out.data(), src.data(), lines,
                  count, along, index_along, nest, lists);
  }
  if (update != Update::Set && wants_same_bits(out.dtype())) {
    Nest places = empty_nest();
    for (int64_t d = 0; d < at.dim(); d++) {
      add_dim(nest, at.size(d), d == dim.dim ? 0 : out.stride(d) * w);
      add_dim(places, at.size(d), src_stride(d));
    }
    Tensor offsets = empty_on_device_of(at, Dims{at.numel()}, DType::Int64);
    on.run(offsets_kernel, {}, shape_of_index(at.numel()), offsets.data(), at.numel(), nest, lists);
    return update_in_order(on, out, offsets, src, empty_nest(), 1, places, update);
  }
  if (const int64_t sum_bytes = std::max<int64_t>(w, 4);  // of an element's arithmetic type
      update == Update::Add && adds_in_shared_memory(out.dtype()) && dim.dim == at.dim() - 1 && dim.stride == w &&
      keeps_row(dim.size, sum_bytes, count) && at.numel() / count >= on.multiprocessors() / 2) {
    for (int64_t d = 0; d < dim.dim; d++) add_dim(nest, at.size(d), out.stride(d) * w, src_stride(d));
    return on.run(add_rows_kernel, {out.dtype()},
                  {.blocks = at.numel() / count,
                   .threads = kIndexThreads,
                   .shared_bytes = static_cast<unsigned>(dim.size * sum_bytes)},
                  out.data(), src.data(), static_cast<int>(count), src_stride(dim.dim), nest, lists);
  }
  for (int64_t d = 0; d < at.dim(); d++) add_dim(nest, at.size(d), d == dim.dim ? 0 : out.stride(d) * w, src_stride(d));
  if (update == Update::Set)
    on.run(scatter_kernel, {word_of(w), name_of(update)}, shape_of_index(at.numel()), out.data(), src.data(),
           at.numel(), nest, lists);
  else
    on.run(scatter_kernel, {out.dtype(), name_of(update)}, shape_of_index(at.numel()), out.data(), src.data(),
           at.numel(), nest, lists);
}

void scale(const Tensor& t, const Scalar& scalar) {
  if (t.numel() == 0) return;
  Launcher on(t);
  dispatch(t.dtype(), [&](auto tag) {
    using M = OpMath<typename decltype(tag)::type>;
    M by = scalar.to<M>();
    on.run(scale_kernel, {t.dtype()}, shape_of_index(t.numel()), t.data(), by, t.numel());
  });
}

void divide_by_counts(const ElementwiseIter& iter, DType dtype) {
  if (iter.numel() == 0) return;
  Launcher on(iter.device().index);
  on.run(divide_kernel, {dtype}, shape_of_index(iter.numel()), iter.pointer(0), iter.pointer(1), iter.numel(),
         layout_of(iter));
}

}  // namespace undertow::core::cuda
