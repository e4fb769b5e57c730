// factors.cuh: LU and Cholesky factors of batches of matrices, and systems solved with them: one block per matrix, or
// per matrix and a few columns of its right side. Matrices are column-major.
#pragma once
#include "linalg/linalg_common.cuh"

// a = P L U in place for m by n matrices; info is the number of the first pivot that is zero, or 0.
template <class T>
__global__ void factor_lu(T* all, int32_t* all_pivots, int32_t* info, int64_t m, int64_t n) {
  __shared__ RealOf<T> sizes[kLinalgThreads];
  __shared__ int64_t rows[kLinalgThreads];
  int64_t k = least_of(m, n), zero = 0;
  T* a = all + blockIdx.x * m * n;
  int32_t* pivots = all_pivots + blockIdx.x * k;
  for (int64_t c = 0; c < k; c++) {
    T* column = a + c * m;
    int64_t best = c + threadIdx.x < m ? c + threadIdx.x : c;
    for (int64_t r = best + kLinalgThreads; r < m; r += kLinalgThreads)
      if (is_larger(pivot_size(column[r]), pivot_size(column[best]))) best = r;
    sizes[threadIdx.x] = pivot_size(column[best]);
    rows[threadIdx.x] = best;
    for (int step = kLinalgThreads / 2; step > 0; step /= 2) {
      __syncthreads();
      if (threadIdx.x >= step) continue;
      RealOf<T> other = sizes[threadIdx.x + step];
      int64_t row = rows[threadIdx.x + step];
      // Of equal sizes the first row is taken, as on the CPU.
      bool equal = !is_larger(other, sizes[threadIdx.x]) && !is_larger(sizes[threadIdx.x], other);
      if (is_larger(other, sizes[threadIdx.x]) || (equal && row < rows[threadIdx.x])) {
        sizes[threadIdx.x] = other;
        rows[threadIdx.x] = row;
      }
    }
    __syncthreads();
    best = rows[0];
    if (threadIdx.x == 0) pivots[c] = static_cast<int32_t>(best + 1);
    T pivot = column[best];
    __syncthreads();
    if (pivot == T(0)) {
      if (!zero) zero = c + 1;
      continue;
    }
    if (best != c)
      for (int64_t j = threadIdx.x; j < n; j += kLinalgThreads) {
        T upper = a[c + j * m];
        a[c + j * m] = a[best + j * m];
        a[best + j * m] = upper;
      }
    __syncthreads();
    T scale = T(1) / pivot;
    for (int64_t r = c + 1 + threadIdx.x; r < m; r += kLinalgThreads) column[r] *= scale;
    __syncthreads();
    int64_t height = m - c - 1, rest = height * (n - c - 1);
    for (int64_t e = threadIdx.x; e < rest; e += kLinalgThreads) {
      int64_t r = c + 1 + e % height, j = c + 1 + e / height;
      a[r + j * m] -= column[r] * a[c + j * m];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) info[blockIdx.x] = static_cast<int32_t>(zero);
}

// a = L L^H in place; the upper triangle becomes zero. info is the number of the first pivot that is not positive.
template <class T>
__global__ void factor_cholesky(T* all, int32_t* info, int64_t n) {
  T* a = all + blockIdx.x * n * n;
  for (int64_t j = 0; j < n; j++) {
    T* column = a + j * n;
    RealOf<T> pivot = real_part(column[j]);
    if (!(pivot > 0)) {  // also for NaN
      if (threadIdx.x == 0) info[blockIdx.x] = static_cast<int32_t>(j + 1);
      return;
    }
    RealOf<T> root = sqrt(pivot);
    __syncthreads();
    for (int64_t i = j + threadIdx.x; i < n; i += kLinalgThreads) column[i] = i == j ? T(root) : column[i] / T(root);
    __syncthreads();
    int64_t side = n - j - 1;
    for (int64_t e = threadIdx.x; e < side * side; e += kLinalgThreads) {
      int64_t i = j + 1 + e % side, l = j + 1 + e / side;
      if (i >= l) a[i + l * n] -= column[i] * conjugate(column[l]);
    }
    __syncthreads();
  }
  for (int64_t e = threadIdx.x; e < n * n; e += kLinalgThreads)
    if (e % n < e / n) a[e] = T(0);
  if (threadIdx.x == 0) info[blockIdx.x] = 0;
}

// x = A^-1 x for `columns` columns from the factors.
template <class T>
__global__ void solve_factored(T* all, const T* factors, const int32_t* all_pivots, int64_t n, int64_t columns) {
  int64_t groups = (columns + kColumnsAtOnce - 1) / kColumnsAtOnce, matrix = blockIdx.x / groups,
          first = blockIdx.x % groups * kColumnsAtOnce, count = least_of<int64_t>(kColumnsAtOnce, columns - first);
  T* x = all + (matrix * columns + first) * n;
  const T* lu = factors + matrix * n * n;
  const int32_t* pivots = all_pivots + matrix * n;
  if (threadIdx.x < count)
    for (int64_t i = 0; i < n; i++) {
      int64_t p = pivots[i] - 1;
      if (p == i) continue;
      T* column = x + threadIdx.x * n;
      T upper = column[i];
      column[i] = column[p];
      column[p] = upper;
    }
  __syncthreads();
  substitute<T>({false, true}, lu, {1, n}, x, {1, n}, n, count);
  substitute<T>({true, false}, lu, {1, n}, x, {1, n}, n, count);
}

// x = a^-1 x for `columns` columns, where strides of a and x are given: x a^-1 is the same with both transposed.
template <class T>
__global__ void solve_triangles(T* all, const T* matrices, TriangleParams p) {
  int64_t groups = (p.columns + kColumnsAtOnce - 1) / kColumnsAtOnce, matrix = blockIdx.x / groups,
          first = blockIdx.x % groups * kColumnsAtOnce, count = least_of<int64_t>(kColumnsAtOnce, p.columns - first);
  substitute<T>(p.triangle, matrices + matrix * p.a_batch, p.a, all + matrix * p.x_batch + first * p.x.column, p.x, p.n,
                count);
}
