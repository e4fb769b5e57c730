// product_kernel.cpp: products by our own kernels, for what cuBLASLt does not compute, or not fast: integers, small
// matrices, vectors.
#include <algorithm>

#include "core/kernels/cuda/matmul/product.h"
#include "core/kernels/cuda/matmul/product_params.h"
#include "core/kernels/cuda/runtime/workspace.h"

namespace undertow::core::cuda {

namespace {

KernelTemplate multiply_tiles("matmul/product.cuh", "multiply_tiles");
KernelTemplate dot_rows("matmul/vector.cuh", "dot_rows");
KernelTemplate dot_columns("matmul/vector.cuh", "dot_columns");
KernelTemplate add_parts("matmul/vector.cuh", "add_parts");

constexpr int kSmallTile = 16, kLargeTile = 64;

BatchedMatrix matrix(const MatrixStrides& s) { return {s.batch, s.row, s.column}; }

ProductFactor factor(DType t, const Scalar& s) {
  if (is_integral(t)) return {0, 0, s.to_int()};
  if (!is_complex(t)) return {s.to_double(), 0, 0};
  std::complex<double> z = s.to_complex();
  return {z.real(), z.imag(), 0};
}

ProductParams params_of(const Product& p) {
  return {p.batch,
          p.m,
          p.n,
          p.k,
          matrix(p.a_strides),
          matrix(p.b_strides),
          matrix(p.d_strides),
          matrix(p.c_strides),
          factor(p.dtype, p.alpha),
          factor(p.dtype, p.beta),
          p.beta.equals(0)};
}

// --- A matrix and a vector

int64_t sum_bytes(DType t) { return is_complex(t) || t == DType::Float64 || t == DType::Int64 ? itemsize(t) : 4; }

// Can `width` neighbouring elements be read at once from every vector of a matrix, if those are `stride` apart?
bool is_packed(const Product& p, const char* data, int64_t unit, int64_t stride, int64_t batch) {
  int64_t width = 16 / itemsize(p.dtype);
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && unit == 1 && stride % width == 0 && batch % width == 0;
}

// Enough blocks to fill the device, with parts of at least `least` elements, a multiple of 16.
struct Division {
  int64_t parts, length;
};
Division divide(const Launcher& on, int64_t k, int64_t blocks, int64_t least) {
  int64_t wanted = std::max<int64_t>(1, 4 * on.multiprocessors() / std::max<int64_t>(1, blocks));
  int64_t length = std::max(least, (k / wanted + 15) / 16 * 16);
  return {std::max<int64_t>(1, (k + length - 1) / length), length};
}

// Rows of at least this many elements are read 16 bytes at a time, and columns of at least kLongColumns.
constexpr int64_t kLongRow = 64, kLongColumns = 2048;

void multiply_vector(const Launcher& on, const Product& p) {
  const ProductParams params = params_of(p);
  const MatrixStrides &a = p.a_strides, &b = p.b_strides;
  int64_t outputs = p.batch * p.m, pack = 16 / itemsize(p.dtype);
  bool by_columns = a.row == 1 && a.column != 1 && p.m >= 8;
  // Short rows share a block.
  int threads = by_columns || p.k <= 2048 || outputs >= 4096 ? 32 : 256;
  int64_t width = 1, x_width = 1;
  if (by_columns && p.m >= kLongColumns && p.m % pack == 0 && is_packed(p, p.a, a.row, a.column, a.batch)) width = pack;
  if (!by_columns && p.k >= kLongRow && is_packed(p, p.a, a.column, a.row, a.batch)) {
    width = pack;
    if (is_packed(p, p.b, b.row, 0, b.batch)) x_width = pack;
  }
  int64_t blocks = by_columns ? blocks_for(p.m, 32 * width) * p.batch : blocks_for(outputs, 256 / threads);
  Division by = divide(on, p.k, blocks, by_columns ? 128 : threads * 32);
  LaunchShape shape{.blocks = blocks, .threads = 256, .blocks_y = static_cast<unsigned>(by.parts)};
  Workspace parts(on.device(), by.parts > 1 ? static_cast<size_t>(by.parts * outputs * sum_bytes(p.dtype)) : 0);
  if (by_columns)
    on.run(dot_columns, {p.dtype, width}, shape, p.c, p.d, p.a, p.b, parts.data(), by.length, params);
  else
    on.run(dot_rows, {p.dtype, threads, width, x_width}, shape, p.c, p.d, p.a, p.b, parts.data(), by.length, params);
  if (by.parts > 1)
    on.run(add_parts, {p.dtype}, {.blocks = blocks_for(outputs, 256)}, p.c, p.d, parts.data(), by.parts, params);
}

// The same product with rows and columns exchanged: c^T = b^T a^T.
Product transposed(const Product& p) {
  auto flip = [](const MatrixStrides& s) { return MatrixStrides{s.batch, s.column, s.row}; };
  Product t = p;
  std::swap(t.m, t.n);
  std::swap(t.a, t.b);
  t.a_strides = flip(p.b_strides);
  t.b_strides = flip(p.a_strides);
  t.c_strides = flip(p.c_strides);
  t.d_strides = flip(p.d_strides);
  return t;
}

}  // namespace

void multiply_by_kernel(const Launcher& on, const Product& p) {
  if (p.n == 1) return multiply_vector(on, p);
  if (p.m == 1) return multiply_vector(on, transposed(p));
  int tile = p.m <= 32 && p.n <= 32 ? kSmallTile : kLargeTile;
  on.run(multiply_tiles, {p.dtype, tile, tile == kSmallTile ? 1 : 4},
         {.blocks = blocks_for(p.m, tile) * blocks_for(p.n, tile) * p.batch, .threads = 256}, p.c, p.d, p.a, p.b,
         params_of(p));
}

}  // namespace undertow::core::cuda
