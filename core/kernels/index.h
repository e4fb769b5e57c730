// index.h: kernels that read and write at indices given by int64 tensors, and by masks.
#pragma once
#include <span>

#include "core/kernels/kernel.h"

namespace undertow::core {

// How a write combines with the element already there. See Note [Writes In Index Order] in
// kernels/cpu/index/index_update.h.
enum class Update : uint8_t { Set, Add, Multiply, Max, Min };

// An indexed dimension. Valid indices are 0 to size - 1, or from -size on if may_wrap.
struct IndexedDim {
  int64_t dim, size;
  int64_t stride;  // in bytes
  bool may_wrap;
  // Raises the operator's error for an index out of range.
  void (*raise_out_of_range)(int64_t position, int64_t dim, int64_t size);
};

struct IndexKernels {
  // Raises if an index is out of range. Any strides.
  Kernel<"index", void(const Tensor& positions, const IndexedDim& dim)> check;
  // Are all indices in [low, high)? A device without elements answers yes. Any strides.
  Kernel<"take_along_dim", bool(const Tensor& positions, int64_t low, int64_t high)> all_within;
  // offsets[k] = the sum over all dimensions d of positions[d][k] * dims[d].stride, in bytes. All are row-major and of
  // the same shape. Raises if an index is out of range.
  Kernel<"index", void(const Tensor& offsets, TensorSpan positions, std::span<const IndexedDim> dims)> offsets;
  // The output = elements of the second operand, of this dtype, each read at the byte offset in the third operand.
  Kernel<"index", void(const ElementwiseIter& iter, DType dtype), kAnyStorage> read;
  // Row-major: the dimensions of `in` from `first` on, one per entry of dims, are replaced by those of the index
  // tensors, which all have the same shape. Raises if an index is out of range.
  Kernel<"index",
         void(const Tensor& out, const Tensor& in, int64_t first, TensorSpan positions,
              std::span<const IndexedDim> dims),
         kAnyStorage>
      read_rows;
  // out[i] = in[i], with the index along dim replaced by at[i]; `out` is row-major, `at` has the same shape and any
  // strides. Raises if an index is out of range.
  Kernel<"gather", void(const Tensor& out, const Tensor& in, const Tensor& at, const IndexedDim& dim)> gather;

  // dst[i] op= src[i] for all indices i of their common shape, in index order, where each element of dst is displaced
  // by its offset in bytes. The offsets have the shape of dst's dimensions from `first` on, and dst's strides there are
  // zero.
  Kernel<"index_put_", void(const Tensor& dst, const Tensor& offsets, int64_t first, const Tensor& src, Update update),
         kComplexStorage | kFloat8Storage>
      write;
  // out[at[i] along dim] op= src[i], in index order; a 0-dimensional src is used for every i. `at` has any strides.
  // Raises if an index is out of range, possibly after some elements have been written.
  Kernel<"scatter", void(const Tensor& out, const Tensor& at, const Tensor& src, const IndexedDim& dim, Update update)>
      scatter;
  // Row-major t *= by.
  Kernel<"index_add", void(const Tensor& t, const Scalar& by)> scale;
  // The output, of this dtype, /= the second operand, int64, where 0 counts as 1; integer results are rounded down.
  Kernel<"scatter_reduce", void(const ElementwiseIter& iter, DType dtype)> divide_by_counts;
  // Converts flat row-major indices in `offsets` to byte offsets in t, which has any strides.
  Kernel<"put_", void(const Tensor& offsets, const Tensor& t)> flat_to_offsets;
  // coordinates[d][k] = the index along d of the element of `shape` with flat index at[k]. All row-major.
  Kernel<"unravel_index", void(TensorSpan coordinates, const Tensor& at, IntSpan shape)> unravel;
  // Row-major: writes ones into a last dimension of zeros; raises for a class out of range.
  Kernel<"one_hot", void(const Tensor& out, const Tensor& classes)> one_hot;
  // -1 if there are no classes; raises for a negative class.
  Kernel<"one_hot", int64_t(const Tensor& classes)> largest_class;

  // The output = the second operand, or the 0-dimensional value where the third operand, a mask, is true.
  Kernel<"masked_fill", void(const ElementwiseIter& iter, const Tensor& value), kComplexStorage> masked_fill;
  // Row-major: where the mask is true, `out` gets the source's next element. Raises if there are too few.
  Kernel<"masked_scatter", void(const Tensor& out, const Tensor& mask, const Tensor& source)> masked_scatter;
  // out[indices] = values, or += if accumulate, where one of the indices is a mask. Returns false if nothing was
  // written and the caller must convert the mask to indices; a device without elements has nothing to do.
  Kernel<"index_put_", bool(const Tensor& out, TensorSpan indices, const Tensor& values, bool accumulate),
         kComplexStorage | kFloat8Storage>
      put_masked;
  // Only the device knows the number of results, so these kernels allocate them. All row-major.
  Kernel<"masked_select", Tensor(const Tensor& in, const Tensor& mask), kAnyStorage> masked_select;
  // The indices of true elements, one row per element, stored column-major.
  Kernel<"nonzero", Tensor(const Tensor& mask)> nonzero;
};

}  // namespace undertow::core
