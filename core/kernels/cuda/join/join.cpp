// join.cpp: the CUDA backend's JoinKernels: concatenated tensors, and rearranged elements of one.
#include "core/kernels/cuda/join/join.h"

#include <algorithm>

#include "core/kernels/backend.h"
#include "core/kernels/cuda/copy/copy.h"
#include "core/kernels/cuda/join/join_params.h"
#include "core/kernels/cuda/reduce/fold.h"
#include "core/kernels/scan.h"
#include "core/tensor/layout.h"

namespace undertow::core::cuda {

namespace {

using undertow::CatParts;
using undertow::TriangleShape;

KernelTemplate cat_parts("join/join.cuh", "cat_parts");
KernelTemplate keep_triangle_kernel("join/join.cuh", "keep_triangle");
KernelTemplate triangle_indices_kernel("join/join.cuh", "triangle_indices");
KernelTemplate repeat_indices_kernel("join/join.cuh", "repeat_indices");

constexpr unsigned kThreads = 256;
LaunchShape shape_for(int64_t n) {
  return {.blocks = std::min<int64_t>(blocks_for(n, kThreads * 4), 65536), .threads = kThreads};
}

DType dtype_of_width(int64_t bytes) {
  return bytes >= 16  ? DType::Complex128
         : bytes == 8 ? DType::Int64
         : bytes == 4 ? DType::Int32
         : bytes == 2 ? DType::Int16
                      : DType::UInt8;
}

void cat(const Tensor& out, TensorSpan parts, int64_t d) {
  int64_t outer = product(out.sizes().subspan(0, static_cast<size_t>(d)));
  if (out.numel() == 0) return;
  int64_t row = out.nbytes() / outer;
  // The unit is the largest power of two that divides every size and address.
  uint64_t all = 16 | reinterpret_cast<uintptr_t>(out.data()) | (outer > 1 ? static_cast<uint64_t>(row) : 0);
  for (const Tensor& t : parts)
    if (t.nbytes()) all |= reinterpret_cast<uintptr_t>(t.data()) | static_cast<uint64_t>(t.nbytes() / outer);
  int64_t unit = static_cast<int64_t>(all & -all), at = 0, largest = 0;
  Launcher on(out);
  CatParts p;
  p.row = row / unit;
  p.outer = outer;
  int count = 0;
  auto launch = [&] {
    LaunchShape shape = shape_for(largest);
    shape.blocks_y = static_cast<unsigned>(count);
    if (count) on.run(cat_parts, {dtype_of_width(unit)}, shape, out.data(), p);
    count = 0;
    largest = 0;
  };
  for (const Tensor& t : parts) {
    int64_t units = t.nbytes() / outer / unit;
    if (units == 0) continue;
    p.from[count] = t.data();
    p.at[count] = at;
    p.units[count++] = units;
    largest = std::max(largest, units * outer);
    at += units;
    if (count == CatParts::kMost) launch();
  }
  launch();
}

Dims byte_strides(const Tensor& t) {
  Dims out(t.strides());
  for (int64_t& s : out) s *= t.itemsize();
  return out;
}

// Reads backwards from the input's far end along the flipped dimensions.
void flip(const Tensor& out, const Tensor& in, uint64_t dims) {
  Dims from = byte_strides(in);
  const char* start = in.data();
  for (size_t d = 0; d < from.size(); d++) {
    if (!(dims >> d & 1)) continue;
    start += (in.sizes()[d] - 1) * from[d];
    from[d] = -from[d];
  }
  move_elements(Launcher(out), out.data(), start, Dims(in.sizes()), byte_strides(out), from, in.dtype());
}

// Along every rolled dimension there are two parts, which swap places.
void roll(const Tensor& out, const Tensor& in, IntSpan shifts) {
  Launcher on(out);
  Dims to = byte_strides(out), from = byte_strides(in), rolled;
  for (size_t d = 0; d < to.size(); d++)
    if (shifts[d]) rolled.push_back(static_cast<int64_t>(d));
  for (uint64_t part = 0; part < uint64_t{1} << rolled.size(); part++) {
    Dims sizes(in.sizes());
    char* target = out.data();
    const char* source = in.data();
    for (size_t k = 0; k < rolled.size(); k++) {
      size_t d = static_cast<size_t>(rolled[k]);
      int64_t head = sizes[d] - shifts[d];
      if (part >> k & 1) {
        source += head * from[d];
        sizes[d] = shifts[d];
      } else {
        target += shifts[d] * to[d];
        sizes[d] = head;
      }
    }
    move_elements(on, target, source, sizes, to, from, in.dtype());
  }
}

void keep_triangle(const Tensor& t, int64_t diagonal, Triangle triangle) {
  TriangleShape shape{t.size(-2), t.size(-1), diagonal, triangle == Triangle::Lower};
  Launcher(t).run(keep_triangle_kernel, {same_width(t.dtype())}, shape_for(t.numel()), t.data(), shape, t.numel());
}

void triangle_indices(const Tensor& out, int64_t rows, int64_t cols, int64_t diagonal, Triangle triangle) {
  int64_t n = out.size(1), *to = out.data_as<int64_t>();
  TriangleShape shape{rows, cols, diagonal, triangle == Triangle::Lower};
  Launcher(out).run(triangle_indices_kernel, {}, shape_for(n), to, to + n, shape, n);
}

int64_t reduced_to_one(const Tensor& t, Fold op) {
  Tensor out = empty_on_device_of(t, {}, DType::Int64);
  fold(out, t, 1, op);
  return backend_of(out).copy->item(out).to_int();
}

int64_t sum_counts(const Tensor& counts) {
  int64_t n = counts.numel();
  if (n == 0) return 0;
  UT_CHECK(reduced_to_one(counts, Fold::Min) >= 0, "repeats can not be negative");
  int64_t most = reduced_to_one(counts, Fold::Max), limit;
  UT_CHECK(!__builtin_mul_overflow(most, n, &limit),
           "repeat_interleave: the repeats can sum to more than 2**63 - 1: the largest is ", most, " of ", n);
  return reduced_to_one(counts, Fold::Sum);
}

void repeat_indices(const Tensor& out, const Tensor& counts) {
  UT_CHECK(out.numel() == sum_counts(counts), "allocated size does not match required size");
  if (out.numel() == 0) return;
  Tensor ends = empty_on_device_of(counts, counts.sizes(), DType::Int64);
  backend_of(counts).scan->scan(ends, counts, 0, Scan::Sum, false);
  Launcher(out).run(repeat_indices_kernel, {}, shape_for(out.numel()), out.data(), ends.data(), counts.numel(),
                    out.numel());
}

}  // namespace

const JoinKernels join_kernels = {
    .cat = cat,
    .flip = flip,
    .roll = roll,
    .keep_triangle = keep_triangle,
    .triangle_indices = triangle_indices,
    .sum_counts = sum_counts,
    .repeat_indices = repeat_indices,
};

}  // namespace undertow::core::cuda
