// rearrange.cpp: forward functions of ops/join.toml on one tensor: repeats, flips, rolls, triangles.
// build: small
#include <algorithm>

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/index.h"
#include "core/kernels/join.h"
#include "core/tensor/elementwise_iter.h"
#include "core/tensor/layout.h"
#include "generated/fwd_join.h"
#include "generated/fwd_logic.h"
#include "generated/fwd_reduce.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

Tensor repeat(const Tensor& self, IntSpan repeats) {
  int64_t n = static_cast<int64_t>(repeats.size()), lead = n - self.dim();
  UT_CHECK(lead >= 0, "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor");
  // Viewed as pairs (count, size), the result is a plain broadcast of self.
  Dims sizes, pairs, strides;
  for (int64_t d = 0; d < n; d++) {
    int64_t count = repeats[static_cast<size_t>(d)], size = d < lead ? 1 : self.size(d - lead);
    UT_CHECK(count >= 0, "Trying to create tensor with negative dimension ", count, ": ", ShapeText{repeats});
    int64_t whole;
    UT_CHECK(!__builtin_mul_overflow(count, size, &whole),
             "Storage size calculation overflowed with sizes=", ShapeText{self.sizes()},
             " and repeats=", ShapeText{repeats});
    sizes.push_back(whole);
    pairs.push_back(count);
    pairs.push_back(size);
    strides.push_back(0);
    strides.push_back(d < lead ? 0 : self.stride(d - lead));
  }
  Tensor out = empty_on_device_of(self, sizes, self.dtype());
  if (out.numel() == 0) return out;
  copy_into(view(out, pairs), core::alias(self, pairs, strides, self.storage_offset(), self.dtype()));
  return out;
}

Tensor _repeat_indices(const Tensor& repeats, std::optional<int64_t> output_size) {
  UT_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  UT_CHECK_AS(NotImplemented, repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
              "\"repeat_interleave_cpu\" not implemented for '", long_name(repeats.dtype()),
              "': repeats has to be Long or Int tensor");
  Tensor counts = contiguous(to_dtype(repeats, DType::Int64));
  UT_CHECK(!output_size || *output_size >= 0, "allocated size does not match required size");
  const JoinKernels& kernels = *backend_of(counts).join;
  Tensor out = empty_on_device_of(counts, Dims{output_size ? *output_size : kernels.sum_counts(counts)}, DType::Int64);
  kernels.repeat_indices(out, counts);
  return out;
}

Tensor flip(const Tensor& self, IntSpan dims) {
  uint64_t mask = dim_mask(dims, self.dim(), false);
  Tensor out = empty_in_format(self, self.dtype(), MemoryFormat::Preserve);
  if (self.numel() == 0) return out;
  // As in torch, which moves whole rows of any dtype.
  if (is_storage(self.dtype()) && mask >> (self.dim() - 1) & 1) throw_not_implemented("flip_cpu", self.dtype());
  backend_of(self).join->flip(out, self, mask);
  return out;
}

Tensor roll(const Tensor& self, IntSpan shifts, IntSpan dims) {
  UT_CHECK(!shifts.empty(), "`shifts` required");
  if (dims.empty()) {
    UT_CHECK(shifts.size() == 1, "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:0");
    if (self.numel() == 0) return clone_preserve(self);
    const int64_t first = 0;
    return view(roll(view(contiguous(self), Dims{self.numel()}), shifts, IntSpan(&first, 1)), self.sizes());
  }
  UT_CHECK(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
           ", dims:", dims.size());
  UT_CHECK_INDEX(self.dim() > 0, "Dimension specified as ", dims[0], " but tensor has no dimensions");
  size_t nd = self.sizes().size();
  Dims shift(nd, 0);
  for (size_t i = 0; i < dims.size(); i++) {
    size_t d = static_cast<size_t>(wrap_dim(dims[i], self.dim()));
    int64_t n = std::max<int64_t>(self.sizes()[d], 1), s = shifts[i] % n;
    shift[d] = (shift[d] + (s < 0 ? s + n : s)) % n;
  }
  if (self.numel() == 0) return clone_preserve(self);
  Tensor out = empty_on_device_of(self, self.sizes(), self.dtype());
  backend_of(self).join->roll(out, self, shift);
  return out;
}

Tensor rot90(const Tensor& self, int64_t k, IntSpan dims) {
  UT_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  UT_CHECK(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
  UT_CHECK(dims[0] != dims[1] && std::abs(dims[0] - dims[1]) != self.dim(),
           "expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
  for (int64_t d : dims) wrap_dim(d, self.dim());
  switch (((k % 4) + 4) % 4) {
    case 1:
      return transpose(flip(self, Dims{dims[1]}), dims[0], dims[1]);
    case 2:
      return flip(self, dims);
    case 3:
      return transpose(flip(self, Dims{dims[0]}), dims[0], dims[1]);
    default:
      return contiguous_copy(self);
  }
}

namespace {
// A diagonal outside the matrix, moved to its edge: the triangle is the same, and sums with its indices do not
// overflow.
int64_t diagonal_inside(int64_t diagonal, int64_t rows, int64_t cols) { return std::clamp(diagonal, -rows, cols); }

// The number of elements with column < row + shift, by the sum over the rows. 128 bits hold every product of sizes.
__int128 count_left_of(int64_t rows, int64_t cols, __int128 shift) {
  auto bound = [&](__int128 i) { return std::clamp<__int128>(i, 0, rows); };
  __int128 first = bound(-shift), full = bound(cols - shift);  // rows [first, full) grow by one each
  return (full - first) * (first + shift + full - 1 + shift) / 2 + (rows - full) * __int128{cols};
}

Tensor triangle(const Tensor& self, int64_t diagonal, Triangle part, const char* name) {
  UT_CHECK(self.dim() >= 2, name, ": input tensor must have at least 2 dimensions");
  Tensor out = contiguous_copy(self);
  if (out.numel())
    backend_of(out).join->keep_triangle(out, diagonal_inside(diagonal, out.size(-2), out.size(-1)), part);
  return out;
}

// In place, every element outside the triangle becomes zero, also where an expanded tensor has it inside in another
// row.
void triangle_into(const Tensor& out, const Tensor& self, int64_t diagonal, Triangle part, const char* name) {
  if (!out.is_same(self) || self.dim() < 2 || !has_internal_overlap(out.sizes(), out.strides()))
    return copy_into(out, triangle(self, diagonal, part, name));
  Tensor inside = triangle(full_on_device_of(self, self.sizes(), Scalar(true), DType::Bool), diagonal, part, name);
  Tensor outside = logical_not(inside), memory = out;
  for (int64_t d = 0; d < out.dim(); d++) {
    if (out.stride(d) != 0) continue;
    outside = any(outside, d, true);
    memory = slice(memory, d, 0, 1, 1);
  }
  ElementwiseIter iter;
  iter.add_output(memory, self.dtype());
  iter.add_input(memory);
  iter.add_input(outside);
  iter.allow_internal_overlap();
  iter.build();
  backend_of(out).index->masked_fill(iter, zeros_on_device_of(self, {}, self.dtype()));
}

Tensor triangle_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
                        std::optional<Device> device, Triangle part) {
  UT_CHECK(row >= 0, "row must be non-negative, got", row);
  UT_CHECK(col >= 0, "col must be non-negative, got", col);
  DType kind = dtype.value_or(DType::Int64);
  UT_CHECK_AS(NotImplemented, kind == DType::Int64 || kind == DType::Int32, "\"",
              part == Triangle::Lower ? "tril" : "triu", "_indices\" not implemented for '", long_name(kind), "'");
  offset = diagonal_inside(offset, row, col);
  __int128 n = part == Triangle::Lower ? count_left_of(row, col, __int128{offset} + 1)
                                       : __int128{row} * col - count_left_of(row, col, offset);
  UT_CHECK(n <= INT64_MAX, "Storage size calculation overflowed: the triangle of a matrix of sizes ",
           ShapeText{IntSpan(Dims{row, col})}, " has more elements than 64 bits count");
  Tensor out = core::empty(Dims{2, static_cast<int64_t>(n)}, DType::Int64, device.value_or(kCpu));
  if (n) backend_of(out).join->triangle_indices(out, row, col, offset, part);
  return to_dtype(out, kind);
}
}  // namespace

void tril_out(const Tensor& out, const Tensor& self, int64_t diagonal) {
  triangle_into(out, self, diagonal, Triangle::Lower, "tril");
}
void triu_out(const Tensor& out, const Tensor& self, int64_t diagonal) {
  triangle_into(out, self, diagonal, Triangle::Upper, "triu");
}
Tensor tril(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, Triangle::Lower, "tril"); }
Tensor triu(const Tensor& self, int64_t diagonal) { return triangle(self, diagonal, Triangle::Upper, "triu"); }
Tensor tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, std::optional<Layout>,
                    std::optional<Device> device, std::optional<bool>) {
  return triangle_indices(row, col, offset, dtype, device, Triangle::Lower);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype, std::optional<Layout>,
                    std::optional<Device> device, std::optional<bool>) {
  return triangle_indices(row, col, offset, dtype, device, Triangle::Upper);
}

}  // namespace undertow::core::fwd
