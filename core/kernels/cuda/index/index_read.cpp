// index_read.cpp: launches of read.cuh; and the CUDA backend's IndexKernels.
#include <algorithm>
#include <limits>

#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/device/pack_choice.h"
#include "core/kernels/cuda/device/strided_host.h"
#include "core/kernels/cuda/index/index.h"
#include "core/kernels/cuda/index/index_launch.h"
#include "core/tensor/layout.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate check_kernel("index/read.cuh", "check_positions<>");
KernelTemplate outside_kernel("index/read.cuh", "find_outside<>");
KernelTemplate offsets_kernel("index/read.cuh", "positions_to_offsets<>");
KernelTemplate read_kernel("index/read.cuh", "read_at_offsets");
KernelTemplate rows_kernel("index/read.cuh", "read_rows");
KernelTemplate gather_kernel("index/read.cuh", "gather_elements");
KernelTemplate gather_rows_kernel("index/rows.cuh", "gather_rows");
KernelTemplate flat_kernel("index/read.cuh", "flat_to_offsets<>");
KernelTemplate coordinate_kernel("index/read.cuh", "take_coordinate<>");
KernelTemplate classes_kernel("index/read.cuh", "set_classes<>");
KernelTemplate extremes_kernel("index/read.cuh", "find_extremes<>");

}  // namespace

const char* word_of(int64_t bytes) {
  switch (bytes) {
    case 1:
      return "uint8_t";
    case 2:
      return "uint16_t";
    case 4:
      return "uint32_t";
    case 8:
      return "uint64_t";
    default:
      return "uint4";
  }
}

Nest empty_nest() {
  Nest nest;
  nest.ndim = 0;
  return nest;
}
void add_dim(Nest& nest, int64_t size, int64_t first, int64_t second, int64_t third) {
  if (size == 1) return;
  const int64_t strides[3] = {first, second, third};
  if (nest.ndim) {
    int last = nest.ndim - 1;
    bool merges = true;
    for (int k = 0; k < 3; k++) merges &= nest.strides[k][last] == strides[k] * size;
    if (merges) {
      nest.sizes[last] *= size;
      for (int k = 0; k < 3; k++) nest.strides[k][last] = strides[k];
      return;
    }
  }
  UT_CHECK(nest.ndim < Nest::kMost, "a CUDA kernel handles at most ", Nest::kMost, " dimensions that cannot be merged");
  nest.sizes[nest.ndim] = size;
  for (int k = 0; k < 3; k++) nest.strides[k][nest.ndim] = strides[k];
  nest.ndim++;
}

PositionList list_of(const Tensor& positions, const IndexedDim& d) {
  return {positions.data_as<int64_t>(),
          d.size,
          d.stride,
          d.dim,
          reinterpret_cast<int64_t>(d.raise_out_of_range),
          d.may_wrap};
}
PositionLists lists_of(const Launcher& on, TensorSpan positions, std::span<const IndexedDim> dims) {
  PositionLists lists;
  lists.count = static_cast<int>(dims.size());
  UT_ASSERT(dims.size() <= PositionLists::kMost, "lists of positions of one launch");
  for (size_t i = 0; i < dims.size(); i++) lists.list[i] = list_of(positions[i], dims[i]);
  lists.slot = error_slot(on);
  return lists;
}

namespace {

ElementwiseIter iter_over(const Tensor& t) {
  ElementwiseIter iter;
  iter.add_input(t);
  iter.build();
  return iter;
}

void check(const Tensor& positions, const IndexedDim& dim) {
  if (positions.numel() == 0) return;
  Launcher on(positions);
  ElementwiseIter iter = iter_over(positions);
  on.run(check_kernel, {}, shape_of_index(iter.numel()), iter.pointer(0), iter.numel(), layout_of(iter),
         list_of(positions, dim), error_slot(on));
}

bool all_within(const Tensor& positions, int64_t low, int64_t high) {
  if (positions.numel() == 0) return true;
  Launcher on(positions);
  ElementwiseIter iter = iter_over(positions);
  Tensor outside = empty_on_device_of(positions, {}, DType::Int32);
  zero(outside);
  on.run(outside_kernel, {}, shape_of_index(iter.numel()), outside.data(), iter.pointer(0), iter.numel(),
         layout_of(iter), low, high);
  return copy_kernels.item(outside).to<int64_t>() == 0;
}

// More lists than one launch takes are added in turn.
void offsets(const Tensor& out, TensorSpan positions, std::span<const IndexedDim> dims) {
  if (out.numel() == 0) return;
  Launcher on(out);
  for (size_t at = 0; at < dims.size() || at == 0; at += PositionLists::kMost) {
    const size_t count = std::min<size_t>(PositionLists::kMost, dims.size() - at);
    on.run(offsets_kernel, {}, shape_of_index(out.numel()), out.data(),
           lists_of(on, positions.subspan(at, count), dims.subspan(at, count)), out.numel(), at > 0);
  }
}

void read(const ElementwiseIter& iter, DType dtype) {
  if (iter.numel() == 0) return;
  Launcher on(iter.device().index);
  on.run(read_kernel, {word_of(static_cast<int64_t>(itemsize(dtype)))}, shape_of_index(iter.numel()), iter.pointer(0),
         iter.pointer(1), iter.pointer(2), iter.numel(), layout_of(iter));
}

void read_rows(const Tensor& out, const Tensor& in, int64_t first, TensorSpan positions,
               std::span<const IndexedDim> dims) {
  if (out.numel() == 0) return;
  Launcher on(out);
  const size_t from = static_cast<size_t>(first);
  const int64_t row_bytes = product(in.sizes().subspan(from + dims.size())) * in.itemsize(),
                outer_bytes = product(in.sizes().subspan(from)) * in.itemsize();
  // Threads copy as many bytes at once as all addresses allow.
  int64_t unit = in.itemsize();
  while (unit < 16 && row_bytes % (2 * unit) == 0 && outer_bytes % (2 * unit) == 0 &&
         (misalignment(in) | misalignment(out)) % static_cast<uintptr_t>(2 * unit) == 0)
    unit *= 2;
  if (dims.size() > PositionLists::kMost) {  // through a tensor of offsets
    Tensor at = empty_on_device_of(out, positions[0].sizes(), DType::Int64);
    offsets(at, positions, dims);
    const IndexedDim flat{0, std::numeric_limits<int64_t>::max(), 1, false, dims[0].raise_out_of_range};
    return read_rows(out, alias(in, Dims{in.numel()}, Dims{1}, in.storage_offset(), in.dtype()), 0, {&at, 1},
                     {&flat, 1});
  }
  const RowsToRead shape{row_bytes / unit, positions[0].numel(), outer_bytes};
  const int64_t units = out.nbytes() / unit;
  on.run(rows_kernel, {word_of(unit)}, shape_of_index(units), out.data(), in.data(), units, shape,
         lists_of(on, positions, dims));
}

void gather(const Tensor& out, const Tensor& in, const Tensor& index, const IndexedDim& dim) {
  if (out.numel() == 0) return;
  const Tensor at = contiguous(index);
  Launcher on(out);
  const int64_t w = in.itemsize();
  const PositionLists lists = lists_of(on, {&at, 1}, {&dim, 1});
  Nest nest = empty_nest();
  if (const int64_t count = at.dim() ? at.size(-1) : 1;
      dim.dim == at.dim() - 1 && dim.stride == w && keeps_row(dim.size, w, count)) {
    for (int64_t d = 0; d < dim.dim; d++) add_dim(nest, at.size(d), in.stride(d) * w);
    const bool pairs =
        count % 2 == 0 && misalignment(at) == 0 && misalignment(out) % static_cast<uintptr_t>(2 * w) == 0;
    return on.run(
        gather_rows_kernel, {word_of(w), pairs ? 2 : 1},
        {.blocks = at.numel() / count, .threads = kIndexThreads, .shared_bytes = static_cast<unsigned>(dim.size * w)},
        out.data(), in.data(), static_cast<int>(count), nest, lists);
  }
  for (int64_t d = 0; d < at.dim(); d++)
    add_dim(nest, at.size(d), d == dim.dim || in.dim() == 0 ? 0 : in.stride(d) * w);
  on.run(gather_kernel, {word_of(w)}, shape_of_index(out.numel()), out.data(), in.data(), out.numel(), nest, lists);
}

void flat_to_offsets(const Tensor& offsets, const Tensor& t) {
  if (offsets.numel() == 0) return;
  Launcher on(offsets);
  Nest nest = empty_nest();
  for (int64_t d = 0; d < t.dim(); d++) add_dim(nest, t.size(d), t.stride(d) * t.itemsize());
  on.run(flat_kernel, {}, shape_of_index(offsets.numel()), offsets.data(), offsets.numel(), nest);
}

void unravel(TensorSpan coordinates, const Tensor& at, IntSpan shape) {
  if (at.numel() == 0) return;
  Launcher on(at);
  Tensor rest = empty_on_device_of(at, at.sizes(), DType::Int64);
  copy(rest, at);
  for (size_t d = shape.size(); d-- > 0;)
    on.run(coordinate_kernel, {}, shape_of_index(at.numel()), coordinates[d].data(), rest.data(), at.numel(),
           std::max<int64_t>(shape[d], 1));
}

void raise_bad_class(int64_t c, int64_t count, int64_t) {
  UT_CHECK(c >= 0, "Class values must be non-negative. Got ", c);
  UT_FAIL("Class values must be smaller than num_classes. Got class ", c, " and num_classes ", count);
}

int64_t largest_class(const Tensor& classes) {
  if (classes.numel() == 0) return -1;
  Launcher on(classes);
  Tensor host = empty(Dims{2}, DType::Int64), extremes = empty_on_device_of(classes, Dims{2}, DType::Int64);
  host.data_as<int64_t>()[0] = -1;
  host.data_as<int64_t>()[1] = 0;
  copy_kernels.copy_across(extremes, host);
  on.run(extremes_kernel, {}, shape_of_index(classes.numel()), extremes.data(), classes.data(), classes.numel());
  copy_kernels.copy_across(host, extremes);
  if (host.data_as<int64_t>()[1] < 0) raise_bad_class(host.data_as<int64_t>()[1], 0, 0);
  return host.data_as<int64_t>()[0];
}

void one_hot(const Tensor& out, const Tensor& classes) {
  if (classes.numel() == 0) return;
  Launcher on(out);
  zero(out);
  const int64_t count = out.size(-1);
  on.run(classes_kernel, {}, shape_of_index(classes.numel()), out.data(), classes.data(), classes.numel(), count,
         error_slot(on), reinterpret_cast<int64_t>(raise_bad_class));
}

}  // namespace

const IndexKernels index_kernels = {
    .check = check,
    .all_within = all_within,
    .offsets = offsets,
    .read = read,
    .read_rows = read_rows,
    .gather = gather,
    .write = write,
    .scatter = scatter,
    .scale = scale,
    .divide_by_counts = divide_by_counts,
    .flat_to_offsets = flat_to_offsets,
    .unravel = unravel,
    .one_hot = one_hot,
    .largest_class = largest_class,
    .masked_fill = masked_fill,
    .masked_scatter = masked_scatter,
    .put_masked = put_masked,
    .masked_select = masked_select,
    .nonzero = nonzero,
};

}  // namespace undertow::core::cuda
