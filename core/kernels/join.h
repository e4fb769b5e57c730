// join.h: kernels that concatenate tensors or rearrange the elements of one.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

enum class Triangle : uint8_t { Lower, Upper };

struct JoinKernels {
  // Concatenates the parts along dim. All are row-major and of the same dtype; empty parts are skipped, whatever their
  // shape.
  Kernel<"cat", void(const Tensor& out, TensorSpan parts, int64_t dim), kAnyStorage> cat;
  // out = in, reversed along the dimensions whose bits are set. Any strides.
  Kernel<"flip", void(const Tensor& out, const Tensor& in, uint64_t dims), kAnyStorage> flip;
  // out = in, rolled along each dimension by its shift, which is at least 0 and below the size. Any strides.
  Kernel<"roll", void(const Tensor& out, const Tensor& in, IntSpan shifts), kAnyStorage> roll;
  // Zeros the elements of row-major matrices outside the triangle: the given diagonal and the elements below (above) it
  // are kept.
  Kernel<"tril", void(const Tensor& t, int64_t diagonal, Triangle triangle), kComplexStorage> keep_triangle;
  // The row indices, then the column indices, of the elements in the triangle of a matrix; `out` is row-major, int64.
  Kernel<"tril_indices", void(const Tensor& out, int64_t rows, int64_t cols, int64_t diagonal, Triangle triangle)>
      triangle_indices;
  // The sum of the counts, row-major int64; raises if one is negative.
  Kernel<"repeat_interleave", int64_t(const Tensor& counts)> sum_counts;
  // Writes each i counts[i] times; raises if that does not fill `out` exactly.
  Kernel<"repeat_interleave", void(const Tensor& out, const Tensor& counts)> repeat_indices;
};

// The columns [begin, end) of row i inside a triangle of a matrix with `cols` columns.
struct TriangleRow {
  int64_t begin, end;
  TriangleRow(Triangle triangle, int64_t i, int64_t cols, int64_t diagonal)
      : begin(triangle == Triangle::Lower ? 0 : std::clamp<int64_t>(i + diagonal, 0, cols)),
        end(triangle == Triangle::Lower ? std::clamp<int64_t>(i + diagonal + 1, 0, cols) : cols) {}
};

}  // namespace undertow::core
