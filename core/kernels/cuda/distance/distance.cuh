// distance.cuh: distances between rows. One warp adds up the differences of one pair of rows.
#pragma once
#include "device/block_reduce.cuh"
#include "device/convert.cuh"

namespace undertow {

// The kinds of norms, chosen at compile time.
enum NormKind : int { kNormZero, kNormOne, kNormTwo, kNormInfinity, kNormAny };

template <int kind, class M>
UT_DEVICE M add_difference(M sum, M d, M p) {
  if constexpr (kind == kNormZero)
    return sum + (d != d ? d : d != M(0) ? M(1) : M(0));
  else if constexpr (kind == kNormOne)
    return sum + d;
  else if constexpr (kind == kNormTwo)
    return sum + d * d;
  else if constexpr (kind == kNormInfinity)
    return d != d || d > sum ? d : sum;
  else
    return sum + pow(d, p);
}
template <int kind, class M>
UT_DEVICE M combine_sums(M a, M b) {
  if constexpr (kind == kNormInfinity)
    return b != b || b > a ? b : a;
  else
    return a + b;
}

// All lanes of the warp call it; the first lane's result is the distance.
template <int kind, class T>
UT_DEVICE T row_distance(const T* x, const T* y, int64_t n, double p) {
  using M = OpMath<T>;
  M sum = 0;
  for (int64_t i = threadIdx.x % 32; i < n; i += 32) {
    M d = convert<M>(x[i]) - convert<M>(y[i]);
    sum = add_difference<kind, M>(sum, d < M(0) ? -d : d, static_cast<M>(p));
  }
  sum = warp_reduce(sum, [](M a, M b) { return combine_sums<kind, M>(a, b); });
  if constexpr (kind == kNormTwo)
    sum = sqrt(sum);
  else if constexpr (kind == kNormAny)
    sum = pow(sum, static_cast<M>(1 / p));
  return convert<T>(sum);
}

}  // namespace undertow

// out[batch, i, j] = the distance of a[batch, i] and b[batch, j].
template <class T, int kind>
__global__ void distances_of_all(T* out, const T* a, const T* b, int64_t batch, int64_t rows, int64_t columns,
                                 int64_t n, double p) {
  int64_t pairs = batch * rows * columns, warps = thread_count() / 32;
  for (int64_t pair = thread_number() / 32; pair < pairs; pair += warps) {
    int64_t row = pair / columns, column = pair % columns;
    T d = row_distance<kind, T>(a + row * n, b + (row / rows * columns + column) * n, n, p);
    if (threadIdx.x % 32 == 0) out[pair] = d;
  }
}

// out = the distances of all pairs i < j of rows, ordered by i, then j.
template <class T, int kind>
__global__ void distances_of_pairs(T* out, const T* a, int64_t rows, int64_t n, double p) {
  int64_t pairs = rows * (rows - 1) / 2, warps = thread_count() / 32;
  for (int64_t pair = thread_number() / 32; pair < pairs; pair += warps) {
    // The pairs of row i start at i (2 rows - i - 1) / 2; the root is exact enough to be at most one off.
    double side = 2.0 * rows - 1.0;
    auto i = static_cast<int64_t>((side - sqrt(side * side - 8.0 * static_cast<double>(pair))) / 2);
    auto start = [&](int64_t row) { return row * (2 * rows - row - 1) / 2; };
    while (i > 0 && start(i) > pair) i--;
    while (start(i + 1) <= pair) i++;
    int64_t j = pair - start(i) + i + 1;
    T d = row_distance<kind, T>(a + i * n, a + j * n, n, p);
    if (threadIdx.x % 32 == 0) out[pair] = d;
  }
}

// squares[i] = the square of the length of row i: one warp per row.
template <class T>
__global__ void square_rows(T* squares, const T* a, int64_t rows, int64_t n) {
  int64_t warps = thread_count() / 32;
  for (int64_t row = thread_number() / 32; row < rows; row += warps) {
    T sum = 0;
    for (int64_t i = threadIdx.x % 32; i < n; i += 32) sum += a[row * n + i] * a[row * n + i];
    sum = warp_reduce(sum, SumOf());
    if (threadIdx.x % 32 == 0) squares[row] = sum;
  }
}

// out holds -2 x.y and becomes the distance, as the root of |x|^2 + |y|^2 - 2 x.y. If that cancels almost completely,
// or is not finite, the distance is summed from differences: only about the last two digits can be lost.
template <class T>
__global__ void finish_distances(T* out, const T* a, const T* b, const T* a_squares, const T* b_squares, int64_t pairs,
                                 int64_t rows, int64_t columns, int64_t n) {
  for (int64_t pair = thread_number(); pair < pairs; pair += thread_count()) {
    int64_t row = pair / columns, other = row / rows * columns + pair % columns;
    T both = a_squares[row] + b_squares[other], left = out[pair] + both;
    if (!(left >= both / 32 && left <= Limits<T>::highest())) {
      left = 0;
      for (int64_t i = 0; i < n; i++) {
        T d = a[row * n + i] - b[other * n + i];
        left += d * d;
      }
    }
    out[pair] = sqrt(left);
  }
}
