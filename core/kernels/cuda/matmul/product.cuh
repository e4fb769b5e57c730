// product.cuh: products of matrices of any dtype and strides: for small products, for integers, and for machines
// without cuBLASLt.
#pragma once
#include "matmul/product_common.cuh"

// One block of 256 threads computes a square tile of `tile` rows; each thread per_thread by per_thread elements of it.
template <class T, int tile, int per_thread>
__global__ void multiply_tiles(T* c, const T* d, const T* a, const T* b, ProductParams p) {
  using Sum = ProductSum<T>;
  constexpr int kDepth = 16, kSide = tile / per_thread, kThreads = kSide * kSide;
  __shared__ Sum rows[kDepth][tile + 1], columns[kDepth][tile + 1];
  int64_t tiles_down = (p.m + tile - 1) / tile, tiles_across = (p.n + tile - 1) / tile, block = blockIdx.x;
  int64_t first_column = block % tiles_across * tile, first_row = block / tiles_across % tiles_down * tile,
          batch = block / tiles_across / tiles_down;
  a += batch * p.a.batch;
  b += batch * p.b.batch;
  int x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  Sum sums[per_thread][per_thread];
  for (int i = 0; i < per_thread; i++)
    for (int j = 0; j < per_thread; j++) sums[i][j] = Sum(0);
  // Neighbouring threads read neighbouring elements.
  bool a_by_rows = p.a.column == 1, b_by_rows = p.b.column == 1;
  for (int64_t start = 0; start < p.k; start += kDepth) {
    for (int e = threadIdx.x; e < kDepth * tile; e += kThreads) {
      int at = a_by_rows ? e / kDepth : e % tile, depth = a_by_rows ? e % kDepth : e / tile;
      int64_t i = first_row + at, k = start + depth;
      rows[depth][at] = i < p.m && k < p.k ? convert<Sum>(a[i * p.a.row + k * p.a.column]) : Sum(0);
    }
    for (int e = threadIdx.x; e < kDepth * tile; e += kThreads) {
      int at = b_by_rows ? e % tile : e / kDepth, depth = b_by_rows ? e / tile : e % kDepth;
      int64_t j = first_column + at, k = start + depth;
      columns[depth][at] = j < p.n && k < p.k ? convert<Sum>(b[k * p.b.row + j * p.b.column]) : Sum(0);
    }
    __syncthreads();
    for (int depth = 0; depth < kDepth; depth++) {
      Sum right[per_thread];
      for (int j = 0; j < per_thread; j++) right[j] = columns[depth][x + j * kSide];
      for (int i = 0; i < per_thread; i++) {
        Sum left = rows[depth][y + i * kSide];
        for (int j = 0; j < per_thread; j++) sums[i][j] += left * right[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < per_thread; i++)
    for (int j = 0; j < per_thread; j++) {
      int64_t row = first_row + y + i * kSide, column = first_column + x + j * kSide;
      if (row < p.m && column < p.n) write_product<T>(p, c, d, batch, row, column, sums[i][j]);
    }
}
