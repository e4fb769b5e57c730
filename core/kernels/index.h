// index.h: kernels that read and write at positions given by int64 tensors, and by masks.
#pragma once
#include <span>

#include "core/kernels/kernel.h"

namespace undertow {

// What happens to the element that stands there. See Note [Writes In Index Order] in kernels/cpu/index/index_update.h.
enum class Update : uint8_t { Set, Add, Multiply, Max, Min };

// A dimension that is indexed, and what its positions may be: 0 to below size, or, where they may wrap, from -size on.
struct IndexedDim {
  int64_t dim, size;
  int64_t stride;  // in bytes
  bool may_wrap;
  // Raises the operator's error for a position outside.
  void (*refuse)(int64_t position, int64_t dim, int64_t size);
};

struct IndexKernels {
  // Raises if a position is outside. Any strides.
  Kernel<"index", void(const Tensor& positions, const IndexedDim& dim)> check;
  // Are all positions of [low, high)? A device without elements says yes. Any strides.
  Kernel<"take_along_dim", bool(const Tensor& positions, int64_t low, int64_t high)> all_within;
  // offsets[k] = the sum over all dimensions d of positions[d][k] * dims[d].stride: bytes. Row-major, of one shape.
  // Raises if a position is outside.
  Kernel<"index", void(const Tensor& offsets, TensorSpan positions, std::span<const IndexedDim> dims)> offsets;
  // The output = the second operand's elements, of that dtype, each the third operand's number of bytes on.
  Kernel<"index", void(const ElementwiseIter& iter, DType dtype)> read;
  // Row-major: the dimensions of `in` from `first` on, one for each of dims, give way to those of the positions, which
  // are of one shape. Raises if a position is outside.
  Kernel<"index", void(const Tensor& out, const Tensor& in, int64_t first, TensorSpan positions,
                       std::span<const IndexedDim> dims)>
      read_rows;
  // out[i] = in[i] but at[i] along dim; `out` and `at` are row-major, of one shape. Raises if a position is outside.
  Kernel<"gather", void(const Tensor& out, const Tensor& in, const Tensor& at, const IndexedDim& dim)> gather;

  // dst[i] op= src[i] for all indices i of their one shape, in index order, dst's elements being offsets bytes on:
  // the offsets' shape is that of dst's dimensions from `first` on, and dst's strides there are zero.
  Kernel<"index_put_", void(const Tensor& dst, const Tensor& offsets, int64_t first, const Tensor& src, Update update)>
      write;
  // out[at[i] along dim] op= src[i], in index order; a src of no dimensions is one element for all. `at` is row-major.
  // Raises if a position is outside, after some elements have been written.
  Kernel<"scatter", void(const Tensor& out, const Tensor& at, const Tensor& src, const IndexedDim& dim, Update update)>
      scatter;
  // Row-major t *= by.
  Kernel<"index_add", void(const Tensor& t, const Scalar& by)> scale;
  // The output, of that dtype, /= the second operand, int64, in which 0 counts as 1; integers are rounded down.
  Kernel<"scatter_reduce", void(const ElementwiseIter& iter, DType dtype)> divide_by_counts;
  // offsets[k] of elements counted in row-major order become byte offsets in t, of any strides.
  Kernel<"put_", void(const Tensor& offsets, const Tensor& t)> flat_to_offsets;
  // coordinates[d][k]: the index along d of the element of `shape` that at[k] counts. All row-major.
  Kernel<"unravel_index", void(TensorSpan coordinates, const Tensor& at, IntSpan shape)> unravel;
  // Row-major: ones in a last dimension of zeros; raises for a class that is not of it.
  Kernel<"one_hot", void(const Tensor& out, const Tensor& classes)> one_hot;
  // -1 if there is none; raises for a negative class.
  Kernel<"one_hot", int64_t(const Tensor& classes)> largest_class;

  // The output = the second operand, or value, of no dimensions, where the third, a mask, is true.
  Kernel<"masked_fill", void(const ElementwiseIter& iter, const Tensor& value)> masked_fill;
  // Row-major: where the mask is true, `out` becomes the source's next element. Raises if there are too few.
  Kernel<"masked_scatter", void(const Tensor& out, const Tensor& mask, const Tensor& source)> masked_scatter;
  // out[indices] = values, or += to accumulate, where one of the indices is a mask. False if it was not done, and
  // the positions of the mask must be listed; a device without elements has nothing to do.
  Kernel<"index_put_", bool(const Tensor& out, TensorSpan indices, const Tensor& values, bool accumulate)> put_masked;
  // The number of results is known to the device alone, so these allocate, beside their operands. All row-major.
  Kernel<"masked_select", Tensor(const Tensor& in, const Tensor& mask)> masked_select;
  // The indices of true elements, one row for each; columns are contiguous.
  Kernel<"nonzero", Tensor(const Tensor& mask)> nonzero;
};

}  // namespace undertow
