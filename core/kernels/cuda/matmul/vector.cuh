// vector.cuh: products of a matrix and a vector (n is 1). The sum of a row may be divided between blocks, which write
// partial sums that a second kernel adds up, always in the same order.
#pragma once
#include "device/packs.cuh"
#include "matmul/product_common.cuh"

namespace undertow {

// The parts of a sum over k that blocks compute: block y adds the elements [y * length, (y + 1) * length).
struct SumPart {
  int64_t begin, end;
};
UT_DEVICE SumPart part_of(const ProductParams& p, int64_t length) {
  int64_t begin = static_cast<int64_t>(blockIdx.y) * length;
  return {begin, least_of(begin + length, p.k)};
}

// Writes the sum of output `at` (batch * m + row), or a partial one.
template <class T>
UT_DEVICE void write_sum(const ProductParams& p, T* c, const T* d, ProductSum<T>* parts, int64_t at,
                         ProductSum<T> sum) {
  if (gridDim.y == 1)
    write_product<T>(p, c, d, at / p.m, at % p.m, 0, sum);
  else
    parts[static_cast<int64_t>(blockIdx.y) * p.batch * p.m + at] = sum;
}

}  // namespace undertow

// `threads` of a block's 256 threads add the products of one row. Each reads `width` elements of the row and x_width of
// the vector at once, which are contiguous and aligned if these are above 1; `length` is a multiple of both.
template <class T, int threads, int width, int x_width>
__global__ void dot_rows(T* c, const T* d, const T* a, const T* b, ProductSum<T>* parts, int64_t length,
                         ProductParams p) {
  using Sum = ProductSum<T>;
  __shared__ Sum sums[256];
  int lane = threadIdx.x % threads;
  int64_t at = static_cast<int64_t>(blockIdx.x) * (256 / threads) + threadIdx.x / threads;
  bool inside = at < p.batch * p.m;
  Sum sum = Sum(0);
  if (inside) {
    SumPart part = part_of(p, length);
    const T *row = a + at / p.m * p.a.batch + at % p.m * p.a.row, *x = b + at / p.m * p.b.batch;
    if constexpr (width == 1) {
      for (int64_t k = part.begin + lane; k < part.end; k += threads)
        sum += convert<Sum>(row[k * p.a.column]) * convert<Sum>(x[k * p.b.row]);
    } else {
      int64_t whole = part.begin + (part.end - part.begin) / width * width;
#pragma unroll 4
      for (int64_t k = part.begin + lane * width; k < whole; k += threads * width) {
        Pack<T, width> left = load_pack<width>(row + k), right;
        if constexpr (x_width == width)
          right = load_pack<width>(x + k);
        else
          for (int i = 0; i < width; i++) right.at[i] = x[(k + i) * p.b.row];
        for (int i = 0; i < width; i++) sum += convert<Sum>(left.at[i]) * convert<Sum>(right.at[i]);
      }
      for (int64_t k = whole + lane; k < part.end; k += threads)
        sum += convert<Sum>(row[k]) * convert<Sum>(x[k * p.b.row]);
    }
  }
  sums[threadIdx.x] = sum;
  for (int step = threads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (lane < step) sums[threadIdx.x] += sums[threadIdx.x + step];
  }
  if (inside && lane == 0) write_sum<T>(p, c, d, parts, at, sums[threadIdx.x]);
}

// For matrices whose columns are contiguous: a block of 32 by 8 threads computes 32 * width rows. Each thread reads
// `width` rows at once, which are aligned if it is above 1.
template <class T, int width>
__global__ void dot_columns(T* c, const T* d, const T* a, const T* b, ProductSum<T>* parts, int64_t length,
                            ProductParams p) {
  using Sum = ProductSum<T>;
  constexpr int kParts = 8, kRows = 32 * width;
  __shared__ Sum shared[kParts][kRows];
  int lane = threadIdx.x % 32, mine = threadIdx.x / 32;
  int64_t tiles = (p.m + kRows - 1) / kRows, batch = blockIdx.x / tiles, first = blockIdx.x % tiles * kRows,
          row = first + lane * width;
  Sum sums[width];
  for (int i = 0; i < width; i++) sums[i] = Sum(0);
  if (row < p.m) {  // m is a multiple of the width
    SumPart part = part_of(p, length);
    const T *column = a + batch * p.a.batch + row * p.a.row, *x = b + batch * p.b.batch;
#pragma unroll 4
    for (int64_t k = part.begin + mine; k < part.end; k += kParts) {
      Pack<T, width> left = load_pack<width>(column + k * p.a.column);
      Sum right = convert<Sum>(x[k * p.b.row]);
      for (int i = 0; i < width; i++) sums[i] += convert<Sum>(left.at[i]) * right;
    }
  }
  for (int i = 0; i < width; i++) shared[mine][lane * width + i] = sums[i];
  __syncthreads();
  for (int i = threadIdx.x; i < kRows; i += 256) {
    if (first + i >= p.m) return;
    Sum sum = shared[0][i];
    for (int part = 1; part < kParts; part++) sum += shared[part][i];
    write_sum<T>(p, c, d, parts, batch * p.m + first + i, sum);
  }
}

// Adds the partial sums of `count` blocks.
template <class T>
__global__ void add_parts(T* c, const T* d, const ProductSum<T>* parts, int64_t count, ProductParams p) {
  int64_t at = thread_number(), outputs = p.batch * p.m;
  if (at >= outputs) return;
  ProductSum<T> sum = parts[at];
  for (int64_t i = 1; i < count; i++) sum += parts[i * outputs + at];
  write_product<T>(p, c, d, at / p.m, at % p.m, 0, sum);
}
