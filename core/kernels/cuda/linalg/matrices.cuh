// matrices.cuh: small work on batches of factors: row exchanges as matrices, the two triangles of LU, determinants,
// columns divided by singular values, and distances of columns.
#pragma once
#include "device/block_reduce.cuh"
#include "device/errors.cuh"
#include "linalg/linalg_common.cuh"

namespace undertow {

// The sign of the row exchanges.
template <class R>
UT_DEVICE R exchange_sign(const int32_t* pivots, int64_t n) {
  R sign = 1;
  for (int64_t i = 0; i < n; i++)
    if (pivots[i] != i + 1) sign = -sign;
  return sign;
}

}  // namespace undertow

// Writes the permutation matrices of row exchanges into zeros: one block per matrix. `rows`: memory of m numbers each.
template <class T>
__global__ void write_permutation(T* P, const int32_t* all_pivots, int32_t* all_rows, int64_t m, int64_t k,
                                  DeviceErrorSlot* slot, int64_t raise) {
  const int32_t* pivots = all_pivots + blockIdx.x * k;
  int32_t* rows = all_rows + blockIdx.x * m;
  for (int64_t i = threadIdx.x; i < m; i += kLinalgThreads) rows[i] = static_cast<int32_t>(i);
  __syncthreads();
  if (threadIdx.x == 0)
    for (int64_t i = 0; i < k; i++) {
      int64_t p = pivots[i] - 1;
      if (p < 0 || p >= m) {
        report_error(slot, raise, pivots[i], 0, 0);
        p = i;
      }
      int32_t row = rows[i];
      rows[i] = rows[p];
      rows[p] = row;
    }
  __syncthreads();
  // Row i of L U is row rows[i] of A.
  for (int64_t i = threadIdx.x; i < m; i += kLinalgThreads) P[blockIdx.x * m * m + rows[i] * m + i] = T(1);
}

// Column-major L (m by k) gets ones on its diagonal and zeros above it, U (k by n) gets zeros below it.
template <class T>
__global__ void separate_triangles(T* L, T* U, int64_t count, int64_t m, int64_t n, int64_t k) {
  int64_t lower = count * m * k, all = lower + count * k * n;
  for (int64_t e = thread_number(); e < all; e += thread_count()) {
    if (e < lower) {
      int64_t i = e % m, j = e / m % k;
      if (i <= j) L[e] = i == j ? T(1) : T(0);
    } else {
      int64_t at = e - lower, i = at % k, j = at / k % n;
      if (i > j) U[at] = T(0);
    }
  }
}

// One thread per matrix.
template <class T>
__global__ void determinants(T* out, const T* lu, const int32_t* pivots, int64_t count, int64_t n) {
  int64_t b = thread_number();
  if (b >= count) return;
  T det(exchange_sign<RealOf<T>>(pivots + b * n, n));
  for (int64_t d = 0; d < n; d++) det *= lu[b * n * n + d * (n + 1)];
  out[b] = det;
}

template <class T>
__global__ void log_determinants(T* sign, RealOf<T>* size, const T* lu, const int32_t* pivots, int64_t count,
                                 int64_t n) {
  using R = RealOf<T>;
  int64_t b = thread_number();
  if (b >= count) return;
  T direction(exchange_sign<R>(pivots + b * n, n));
  R sum = 0;
  for (int64_t d = 0; d < n; d++) {
    T v = lu[b * n * n + d * (n + 1)];
    R length = absolute(v);
    direction = v == T(0) ? T(0) : direction * (v / T(length));
    sum += log(length);
  }
  sign[b] = direction;
  size[b] = sum;
}

// See LinalgKernels::divide_columns: one block per matrix.
template <class T>
__global__ void divide_by_values(T* all, const RealOf<T>* all_values, const double* atol, const double* rtol,
                                 int64_t* ranks, int64_t rows, int64_t k) {
  const RealOf<T>* values = all_values + blockIdx.x * k;
  T* a = all + blockIdx.x * rows * k;
  double most = 0;
  for (int64_t j = 0; j < k; j++) most = fmax(most, fabs(static_cast<double>(values[j])));
  double cutoff = fmax(atol[blockIdx.x], rtol[blockIdx.x] * most);
  auto keeps = [&](int64_t j) { return fabs(static_cast<double>(values[j])) > cutoff; };
  for (int64_t e = threadIdx.x; e < rows * k; e += kLinalgThreads)
    a[e] = keeps(e / rows) ? a[e] / T(values[e / rows]) : T(0);
  if (threadIdx.x) return;
  int64_t rank = 0;
  for (int64_t j = 0; j < k; j++) rank += keeps(j);
  ranks[blockIdx.x] = rank;
}

// out[batch, j] = the sum of |a - b|^2 over column j of row-major matrices: one block per column.
template <class T>
__global__ void column_distances(RealOf<T>* out, const T* a, const T* b, int64_t rows, int64_t columns) {
  using R = RealOf<T>;
  int64_t first = blockIdx.x / columns * rows * columns + blockIdx.x % columns;
  R sum = 0;
  for (int64_t i = threadIdx.x; i < rows; i += kLinalgThreads) {
    T d = a[first + i * columns] - b[first + i * columns];
    sum += real_part(d * conjugate(d));
  }
  sum = block_reduce(sum, R(0), SumOf());
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// Elements of m by n column-major matrices on the other side of the diagonal become zero.
template <class T>
__global__ void keep_triangle(T* all, int64_t elements, int64_t m, int64_t n, bool upper) {
  for (int64_t e = thread_number(); e < elements; e += thread_count()) {
    int64_t i = e % m, j = e / m % n;
    if (upper ? i > j : i < j) all[e] = T(0);
  }
}

// to = the conjugate transposes of n by n matrices.
template <class T>
__global__ void adjoint_matrices(T* to, const T* from, int64_t elements, int64_t n) {
  for (int64_t e = thread_number(); e < elements; e += thread_count()) {
    int64_t i = e % n, j = e / n % n, first = e - i - j * n;
    to[e] = conjugate(from[first + i * n + j]);
  }
}

template <class T>
__global__ void write_identity(T* all, int64_t elements, int64_t n) {
  for (int64_t e = thread_number(); e < elements; e += thread_count()) all[e] = e % n == e / n % n ? T(1) : T(0);
}
