// small.cuh: the sum of a diagonal, and cross products.
#pragma once
#include "matmul/product_common.cuh"

// One block of 256 threads.
template <class Out, class T>
__global__ void trace(Out* out, const T* matrix, int64_t n, int64_t step) {
  using Sum = Conditional<kIsIntegral<T>, uint64_t, OpMath<T>>;  // integers wrap around
  __shared__ Sum sums[256];
  Sum sum = Sum(0);
  for (int64_t i = threadIdx.x; i < n; i += 256) sum += convert<Sum>(matrix[i * step]);
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *out = convert<Out>(sums[0]);
}

// The elements of a vector are `inner` apart.
template <class T>
__global__ void cross(T* out, const T* a, const T* b, int64_t vectors, int64_t inner) {
  using Math = OpMath<T>;
  // Each product rounds to the element type, as on the CPU.
  auto product = [](T x, T y) { return convert<Math>(convert<T>(convert<Math>(x) * convert<Math>(y))); };
  for (int64_t v = thread_number(); v < vectors; v += thread_count()) {
    int64_t at = v / inner * 3 * inner + v % inner;
    T x[3], y[3];
    for (int i = 0; i < 3; i++) {
      x[i] = a[at + i * inner];
      y[i] = b[at + i * inner];
    }
    for (int i = 0; i < 3; i++) {
      int j = (i + 1) % 3, k = (i + 2) % 3;
      out[at + i * inner] = convert<T>(product(x[j], y[k]) - product(x[k], y[j]));
    }
  }
}
