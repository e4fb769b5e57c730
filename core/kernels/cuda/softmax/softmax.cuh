// softmax.cuh: softmax, log-softmax and logsumexp over rows and columns, and the derivatives of the first two. Short
// rows are kept in the registers of a warp; a block goes over a long row twice, the second time mostly in its cache.
#pragma once
#include "device/block_reduce.cuh"
#include "device/packs.cuh"
#include "device/real_math.cuh"

enum SoftmaxResult { Softmax, LogSoftmax, LogSumExp };

namespace undertow {

// The largest number of a set and the sum of exp(x - largest).
template <class M>
struct ExpSum {
  M largest, sum;
};

template <class M>
UT_DEVICE bool is_infinite(M x) {
  return x == Limits<M>::infinity() || x == -Limits<M>::infinity();
}
// What exponents are taken relative to: infinity would make them NaN.
template <class M>
UT_DEVICE M reference_of(M largest) {
  return is_infinite(largest) ? M(0) : largest;
}

struct JoinExpSums {
  template <class M>
  UT_DEVICE ExpSum<M> operator()(ExpSum<M> x, ExpSum<M> y) const {
    M largest = greatest_of(x.largest, y.largest), by = reference_of(largest);
    return {largest, x.sum * real_exp(x.largest - by) + y.sum * real_exp(y.largest - by)};
  }
};
template <class M>
UT_DEVICE ExpSum<M> shuffle_xor(ExpSum<M> v, int mask) {
  return {shuffle_xor(v.largest, mask), shuffle_xor(v.sum, mask)};
}

// Adds a few numbers: one more exponential for all of them.
template <class M, int n>
UT_DEVICE void add_numbers(ExpSum<M>& to, const M (&x)[n]) {
  M largest = to.largest;
  for (int k = 0; k < n; k++) largest = greatest_of(largest, x[k]);
  M by = reference_of(largest), sum = to.sum * real_exp(to.largest - by);
  for (int k = 0; k < n; k++) sum += real_exp(x[k] - by);
  to = {largest, sum};
}

// log(sum(exp)) of what was added; an infinite largest number is the result.
template <class M>
UT_DEVICE M log_of(ExpSum<M> s) {
  if (is_infinite(s.largest)) return s.sum != s.sum ? s.sum : s.largest;
  return s.largest + real_log(s.sum);
}

// One element of the result, given the row's largest number and, for softmax, 1 / sum, or log(sum).
template <SoftmaxResult result, class M>
UT_DEVICE M normalised(M x, M largest, M by) {
  return result == Softmax ? real_exp(x - largest) * by : (x - largest) - by;
}
template <SoftmaxResult result, class M>
UT_DEVICE M normaliser(ExpSum<M> s) {
  if (is_infinite(s.largest)) return Limits<M>::nan();
  return result == Softmax ? M(1) / s.sum : real_log(s.sum);
}

template <SoftmaxResult result, class M>
UT_DEVICE M gradient_of(M grad, M y, M sum) {
  return result == Softmax ? y * (grad - sum) : grad - real_exp(y) * sum;
}
template <SoftmaxResult result, class M>
UT_DEVICE M gradient_term(M grad, M y) {
  return result == Softmax ? grad * y : grad;
}

}  // namespace undertow

// A warp per row; lane l holds the packs l, l + 32, ...: `packs` of n_pack elements.
template <class T, int n_pack, int packs, SoftmaxResult result>
__global__ void softmax_short(T* out, const T* in, int64_t rows, int n) {
  using M = OpMath<T>;
  const int lane = threadIdx.x & 31;
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) >> 5;
  if (row >= rows) return;
  in += row * n;
  M x[packs][n_pack];
  M largest = -Limits<M>::infinity();
#pragma unroll
  for (int p = 0; p < packs; p++) {
    const int at = (p * 32 + lane) * n_pack;
    if (at < n) {
      const Pack<T, n_pack> v = load_pack<n_pack>(in + at);
#pragma unroll
      for (int k = 0; k < n_pack; k++) {
        x[p][k] = static_cast<M>(v.at[k]);
        largest = greatest_of(largest, x[p][k]);
      }
    }
  }
  largest = warp_reduce(largest, LargestOf());
  const M by = reference_of(largest);
  M sum = 0;
#pragma unroll
  for (int p = 0; p < packs; p++) {
    if ((p * 32 + lane) * n_pack < n) {
#pragma unroll
      for (int k = 0; k < n_pack; k++) {
        const M e = real_exp(x[p][k] - by);
        if (result == Softmax) x[p][k] = e;
        sum += e;
      }
    }
  }
  sum = warp_reduce(sum, SumOf());
  if (result == LogSumExp) {
    if (lane == 0) out[row] = static_cast<T>(log_of(ExpSum<M>{largest, sum}));
    return;
  }
  out += row * n;
  const M scale = normaliser<result>(ExpSum<M>{largest, sum});
#pragma unroll
  for (int p = 0; p < packs; p++) {
    const int at = (p * 32 + lane) * n_pack;
    if (at < n) {
      Pack<T, n_pack> v;
#pragma unroll
      for (int k = 0; k < n_pack; k++)
        v.at[k] = static_cast<T>(result == Softmax ? x[p][k] * scale : (x[p][k] - largest) - scale);
      store_pack(out + at, v);
    }
  }
}

// A block per row.
template <class T, int n_pack, SoftmaxResult result>
__global__ void __launch_bounds__(1024) softmax_long(T* out, const T* in, int64_t n) {
  using M = OpMath<T>;
  in += blockIdx.x * n;
  ExpSum<M> s = {-Limits<M>::infinity(), M(0)};
  walk_row<n_pack>(
      in, n,
      [&](int64_t i) {
        const Pack<T, n_pack> v = load_pack<n_pack>(in + i);
        M x[n_pack];
#pragma unroll
        for (int k = 0; k < n_pack; k++) x[k] = static_cast<M>(v.at[k]);
        add_numbers(s, x);
      },
      [&](int64_t i) {
        const M x[1] = {static_cast<M>(in[i])};
        add_numbers(s, x);
      });
  s = block_reduce(s, ExpSum<M>{-Limits<M>::infinity(), M(0)}, JoinExpSums());
  if (result == LogSumExp) {
    if (threadIdx.x == 0) out[blockIdx.x] = static_cast<T>(log_of(s));
    return;
  }
  out += blockIdx.x * n;
  const M largest = s.largest, by = normaliser<result>(s);
  walk_row<n_pack>(
      in, n,
      [&](int64_t i) {
        Pack<T, n_pack> v = load_pack<n_pack>(in + i);
#pragma unroll
        for (int k = 0; k < n_pack; k++)
          v.at[k] = static_cast<T>(normalised<result>(static_cast<M>(v.at[k]), largest, by));
        store_pack(out + i, v);
      },
      [&](int64_t i) { out[i] = static_cast<T>(normalised<result>(static_cast<M>(in[i]), largest, by)); });
}

// Columns of `outer` blocks of n rows and `inner` columns. A block of 32 x 8 threads has 32 columns.
template <class T, SoftmaxResult result>
__global__ void softmax_columns(T* out, const T* in, int64_t n, int64_t inner) {
  using M = OpMath<T>;
  __shared__ M largest[8][33], sums[8][33];
  const int64_t tiles = (inner + 31) / 32, outer = blockIdx.x / tiles,
                column = (blockIdx.x - outer * tiles) * 32 + threadIdx.x;
  const bool inside = column < inner;
  in += outer * n * inner + column;
  ExpSum<M> s = {-Limits<M>::infinity(), M(0)};
  for (int64_t i = threadIdx.y; inside && i < n; i += blockDim.y) {
    const M x[1] = {static_cast<M>(in[i * inner])};
    add_numbers(s, x);
  }
  largest[threadIdx.y][threadIdx.x] = s.largest;
  sums[threadIdx.y][threadIdx.x] = s.sum;
  __syncthreads();
  s = {largest[0][threadIdx.x], sums[0][threadIdx.x]};
  for (int k = 1; k < 8; k++) s = JoinExpSums()(s, ExpSum<M>{largest[k][threadIdx.x], sums[k][threadIdx.x]});
  if (!inside) return;
  if (result == LogSumExp) {
    if (threadIdx.y == 0) out[outer * inner + column] = static_cast<T>(log_of(s));
    return;
  }
  out += outer * n * inner + column;
  const M by = normaliser<result>(s);
  for (int64_t i = threadIdx.y; i < n; i += blockDim.y)
    out[i * inner] = static_cast<T>(normalised<result>(static_cast<M>(in[i * inner]), s.largest, by));
}

template <class T, int n_pack, int packs, SoftmaxResult result>
__global__ void softmax_backward_short(T* to, const T* grad, const T* y, int64_t rows, int n) {
  using M = OpMath<T>;
  const int lane = threadIdx.x & 31;
  const int64_t row = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) >> 5;
  if (row >= rows) return;
  grad += row * n;
  y += row * n;
  to += row * n;
  Pack<T, n_pack> g[packs], r[packs];
  M sum = 0;
#pragma unroll
  for (int p = 0; p < packs; p++) {
    const int at = (p * 32 + lane) * n_pack;
    if (at < n) {
      g[p] = load_pack<n_pack>(grad + at);
      r[p] = load_pack<n_pack>(y + at);
#pragma unroll
      for (int k = 0; k < n_pack; k++)
        sum += gradient_term<result>(static_cast<M>(g[p].at[k]), static_cast<M>(r[p].at[k]));
    }
  }
  sum = warp_reduce(sum, SumOf());
#pragma unroll
  for (int p = 0; p < packs; p++) {
    const int at = (p * 32 + lane) * n_pack;
    if (at < n) {
#pragma unroll
      for (int k = 0; k < n_pack; k++)
        r[p].at[k] =
            static_cast<T>(gradient_of<result>(static_cast<M>(g[p].at[k]), static_cast<M>(r[p].at[k]), sum));
      store_pack(to + at, r[p]);
    }
  }
}

template <class T, int n_pack, SoftmaxResult result>
__global__ void __launch_bounds__(1024) softmax_backward_long(T* to, const T* grad, const T* y, int64_t n) {
  using M = OpMath<T>;
  grad += blockIdx.x * n;
  y += blockIdx.x * n;
  to += blockIdx.x * n;
  M sum = 0;
  walk_row<n_pack>(
      y, n,
      [&](int64_t i) {
        const Pack<T, n_pack> g = load_pack<n_pack>(grad + i);
        Pack<T, n_pack> r{};
        if (result == Softmax) r = load_pack<n_pack>(y + i);
#pragma unroll
        for (int k = 0; k < n_pack; k++)
          sum += gradient_term<result>(static_cast<M>(g.at[k]), static_cast<M>(r.at[k]));
      },
      [&](int64_t i) { sum += gradient_term<result>(static_cast<M>(grad[i]), static_cast<M>(y[i])); });
  sum = block_reduce(sum, M(0), SumOf());
  walk_row<n_pack>(
      y, n,
      [&](int64_t i) {
        const Pack<T, n_pack> g = load_pack<n_pack>(grad + i);
        Pack<T, n_pack> r = load_pack<n_pack>(y + i);
#pragma unroll
        for (int k = 0; k < n_pack; k++)
          r.at[k] = static_cast<T>(gradient_of<result>(static_cast<M>(g.at[k]), static_cast<M>(r.at[k]), sum));
        store_pack(to + i, r);
      },
      [&](int64_t i) {
        to[i] = static_cast<T>(gradient_of<result>(static_cast<M>(grad[i]), static_cast<M>(y[i]), sum));
      });
}

template <class T, SoftmaxResult result>
__global__ void softmax_backward_columns(T* to, const T* grad, const T* y, int64_t n, int64_t inner) {
  using M = OpMath<T>;
  __shared__ M sums[8][33];
  const int64_t tiles = (inner + 31) / 32, outer = blockIdx.x / tiles,
                column = (blockIdx.x - outer * tiles) * 32 + threadIdx.x, at = outer * n * inner + column;
  const bool inside = column < inner;
  M sum = 0;
  for (int64_t i = threadIdx.y; inside && i < n; i += blockDim.y)
    sum += gradient_term<result>(static_cast<M>(grad[at + i * inner]), static_cast<M>(y[at + i * inner]));
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = sums[0][threadIdx.x];
  for (int k = 1; k < 8; k++) sum += sums[k][threadIdx.x];
  for (int64_t i = threadIdx.y; inside && i < n; i += blockDim.y)
    to[at + i * inner] = static_cast<T>(
        gradient_of<result>(static_cast<M>(grad[at + i * inner]), static_cast<M>(y[at + i * inner]), sum));
}
