// join.h: kernels that put tensors together or move the elements of one.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

enum class Triangle : uint8_t { Lower, Upper };

struct JoinKernels {
  // The parts one after the other along dim of `out`. All are row-major and of one dtype; parts without elements are
  // skipped, whatever their shape.
  Kernel<"cat", void(const Tensor& out, TensorSpan parts, int64_t dim)> cat;
  // out = in, reversed along the dimensions whose bits are set. Any strides.
  Kernel<"flip", void(const Tensor& out, const Tensor& in, uint64_t dims)> flip;
  // out = in, moved along each dimension by its shift, from 0 to below the size, and around the end. Any strides.
  Kernel<"roll", void(const Tensor& out, const Tensor& in, IntSpan shifts)> roll;
  // Zeros what is not in the triangle of row-major matrices: the diagonal named and what is below (above) it is kept.
  Kernel<"tril", void(const Tensor& t, int64_t diagonal, Triangle triangle)> keep_triangle;
  // The rows, then the columns, of the elements in the triangle of a matrix; `out` is row-major, int64.
  Kernel<"tril_indices", void(const Tensor& out, int64_t rows, int64_t cols, int64_t diagonal, Triangle triangle)>
      triangle_indices;
  // The sum of the counts, row-major int64; raises if one is negative.
  Kernel<"repeat_interleave", int64_t(const Tensor& counts)> sum_counts;
  // Each i counts[i] times; raises if there are more or fewer of them than `out` has elements.
  Kernel<"repeat_interleave", void(const Tensor& out, const Tensor& counts)> repeat_indices;
};

// The columns [begin, end) of row i that are in a triangle of a matrix with `cols` columns.
struct TriangleRow {
  int64_t begin, end;
  TriangleRow(Triangle triangle, int64_t i, int64_t cols, int64_t diagonal)
      : begin(triangle == Triangle::Lower ? 0 : std::clamp<int64_t>(i + diagonal, 0, cols)),
        end(triangle == Triangle::Lower ? std::clamp<int64_t>(i + diagonal + 1, 0, cols) : cols) {}
};

}  // namespace undertow
