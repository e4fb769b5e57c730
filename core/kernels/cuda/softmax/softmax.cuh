// softmax.cuh: softmax, log-softmax and logsumexp over rows and columns, and the derivatives of the first two. Short
// rows are kept in the registers of a warp. A block goes over a long row twice, and keeps it in shared memory if it
// fits. A few very long rows have several blocks each, and two kernels.
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
    M largest = real_max(x.largest, y.largest), by = reference_of(largest);
    return {largest, x.sum * real_exp(x.largest - by) + y.sum * real_exp(y.largest - by)};
  }
};
struct LargerOf {
  template <class M>
  UT_DEVICE M operator()(M x, M y) const {
    return real_max(x, y);
  }
};
template <class M>
UT_DEVICE ExpSum<M> shuffle_xor(ExpSum<M> v, int mask) {
  return {shuffle_xor(v.largest, mask), shuffle_xor(v.sum, mask)};
}

// Adds a few numbers of type T: one more exponential for all of them.
template <class M, class T, int n>
UT_DEVICE void add_numbers(ExpSum<M>& to, const T (&numbers)[n]) {
  M x[n], largest = to.largest;
#pragma unroll
  for (int k = 0; k < n; k++) {
    x[k] = static_cast<M>(numbers[k]);
    largest = real_max(largest, x[k]);
  }
  M by = reference_of(largest), sum = to.sum * exp_for<T>(to.largest - by);
#pragma unroll
  for (int k = 0; k < n; k++) sum += exp_for<T>(x[k] - by);
  to = {largest, sum};
}

// log(sum(exp)) of what was added; an infinite largest number is the result.
template <class M>
UT_DEVICE M log_of(ExpSum<M> s) {
  if (is_infinite(s.largest)) return s.sum != s.sum ? s.sum : s.largest;
  return s.largest + real_log(s.sum);
}

// One element of the result, given the row's largest number and, for softmax, 1 / sum, or log(sum).
template <SoftmaxResult result, class T, class M>
UT_DEVICE M normalised(T x, M largest, M by) {
  const M below = static_cast<M>(x) - largest;
  return result == Softmax ? exp_for<T>(below) * by : below - by;
}
template <SoftmaxResult result, class M>
UT_DEVICE M normaliser(ExpSum<M> s) {
  if (is_infinite(s.largest)) return Limits<M>::nan();
  return result == Softmax ? M(1) / s.sum : real_log(s.sum);
}

template <SoftmaxResult result, class T, class M>
UT_DEVICE M gradient_of(T grad, T y, M sum) {
  const M g = static_cast<M>(grad), r = static_cast<M>(y);
  return result == Softmax ? r * (g - sum) : g - exp_for<T>(r) * sum;
}
template <SoftmaxResult result, class T>
UT_DEVICE OpMath<T> gradient_term(T grad, T y) {
  using M = OpMath<T>;
  return result == Softmax ? static_cast<M>(grad) * static_cast<M>(y) : static_cast<M>(grad);
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
        largest = real_max(largest, x[p][k]);
      }
    }
  }
  largest = warp_reduce(largest, LargerOf());
  const M by = reference_of(largest);
  M sum = 0;
#pragma unroll
  for (int p = 0; p < packs; p++) {
    if ((p * 32 + lane) * n_pack < n) {
#pragma unroll
      for (int k = 0; k < n_pack; k++) {
        const M e = exp_for<T>(x[p][k] - by);
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
#pragma unroll
      for (int k = 0; k < n_pack; k++) x[p][k] = result == Softmax ? x[p][k] * scale : (x[p][k] - largest) - scale;
      store_pack(out + at, rounded_pack<T>(x[p]));
    }
  }
}

namespace undertow {

inline constexpr int kLongThreads = 512;
inline constexpr int kPacksAhead = 4;

// The sum of n elements. `kept`: where their packs stay, or null; a thread reads only those that it has written.
template <int n_pack, class T, class M = OpMath<T>>
UT_DEVICE ExpSum<M> exp_sum_of(const T* in, int64_t n, Pack<T, n_pack>* kept) {
  ExpSum<M> s = {-Limits<M>::infinity(), M(0)};
  walk_row_ahead<n_pack, kPacksAhead>(
      in, n, [&](int64_t i, int) { return load_pack<n_pack>(in + i); },
      [&](int64_t, int number, const Pack<T, n_pack>& v) {
        if (kept) kept[number] = v;
        add_numbers(s, v.at);
      },
      [&](int64_t i) {
        const T x[1] = {in[i]};
        add_numbers(s, x);
      });
  return block_reduce(s, ExpSum<M>{-Limits<M>::infinity(), M(0)}, JoinExpSums());
}

template <SoftmaxResult result, int n_pack, class T, class M>
UT_DEVICE void write_normalised(T* out, const T* in, int64_t n, const Pack<T, n_pack>* kept, ExpSum<M> s) {
  const M largest = s.largest, by = normaliser<result>(s);
  walk_row_ahead<n_pack, kPacksAhead>(
      in, n, [&](int64_t i, int number) { return kept ? kept[number] : load_pack<n_pack>(in + i); },
      [&](int64_t i, int, const Pack<T, n_pack>& v) {
        M y[n_pack];
#pragma unroll
        for (int k = 0; k < n_pack; k++) y[k] = normalised<result>(v.at[k], largest, by);
        store_pack(out + i, rounded_pack<T>(y));
      },
      [&](int64_t i) { out[i] = static_cast<T>(normalised<result>(in[i], largest, by)); });
}

}  // namespace undertow

// A block per row. keeps: the row fits the dynamic shared memory.
template <class T, int n_pack, SoftmaxResult result, bool keeps>
__global__ void __launch_bounds__(kLongThreads, 2) softmax_long(T* out, const T* in, int64_t n) {
  using M = OpMath<T>;
  UT_DYNAMIC_SHARED(uint4, memory);
  auto* const kept = keeps ? reinterpret_cast<Pack<T, n_pack>*>(memory) : nullptr;
  in += blockIdx.x * n;
  const ExpSum<M> s = exp_sum_of<n_pack>(in, n, kept);
  if (result == LogSumExp) {
    if (threadIdx.x == 0) out[blockIdx.x] = static_cast<T>(log_of(s));
    return;
  }
  write_normalised<result>(out + blockIdx.x * n, in, n, kept, s);
}

// The sum of each part of each row. A part has `part` elements, the last one what is left.
template <class T, int n_pack>
__global__ void __launch_bounds__(kLongThreads, 2)
    softmax_part_sums(void* sums, const T* in, int64_t n, int64_t part, int parts) {
  const int64_t row = blockIdx.x / parts, first = (blockIdx.x - row * parts) * part;
  const auto s =
      exp_sum_of<n_pack>(in + row * n + first, least_of(part, n - first), static_cast<Pack<T, n_pack>*>(nullptr));
  if (threadIdx.x == 0) static_cast<ExpSum<OpMath<T>>*>(sums)[blockIdx.x] = s;
}
// The result of each part, given the sums of at most 32 parts. The first block of a row writes its logsumexp.
template <class T, int n_pack, SoftmaxResult result>
__global__ void __launch_bounds__(kLongThreads, 2)
    softmax_parts(T* out, const T* in, const void* sums, int64_t n, int64_t part, int parts) {
  using M = OpMath<T>;
  const int lane = threadIdx.x & 31;
  const int64_t row = blockIdx.x / parts, first = (blockIdx.x - row * parts) * part;
  ExpSum<M> s = {-Limits<M>::infinity(), M(0)};
  if (lane < parts) s = static_cast<const ExpSum<M>*>(sums)[row * parts + lane];
  s = warp_reduce(s, JoinExpSums());
  if (result == LogSumExp) {
    if (first == 0 && threadIdx.x == 0) out[row] = static_cast<T>(log_of(s));
    return;
  }
  write_normalised<result>(out + row * n + first, in + row * n + first, least_of(part, n - first),
                           static_cast<const Pack<T, n_pack>*>(nullptr), s);
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
    const T x[1] = {in[i * inner]};
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
    out[i * inner] = static_cast<T>(normalised<result>(in[i * inner], s.largest, by));
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
      for (int k = 0; k < n_pack; k++) sum += gradient_term<result>(g[p].at[k], r[p].at[k]);
    }
  }
  sum = warp_reduce(sum, SumOf());
#pragma unroll
  for (int p = 0; p < packs; p++) {
    const int at = (p * 32 + lane) * n_pack;
    if (at < n) {
      M x[n_pack];
#pragma unroll
      for (int k = 0; k < n_pack; k++) x[k] = gradient_of<result>(g[p].at[k], r[p].at[k], sum);
      store_pack(to + at, rounded_pack<T>(x));
    }
  }
}

// A block per row. keeps: the gradient of the row fits the dynamic shared memory.
template <class T, int n_pack, SoftmaxResult result, bool keeps>
__global__ void __launch_bounds__(kLongThreads, 2) softmax_backward_long(T* to, const T* grad, const T* y, int64_t n) {
  using M = OpMath<T>;
  using Pair = Two<Pack<T, n_pack>>;
  UT_DYNAMIC_SHARED(uint4, memory);
  auto* const kept = reinterpret_cast<Pack<T, n_pack>*>(memory);
  grad += blockIdx.x * n;
  y += blockIdx.x * n;
  to += blockIdx.x * n;
  M sum = 0;
  walk_row_ahead<n_pack, kPacksAhead>(
      y, n,
      [&](int64_t i, int) {
        Pair v{load_pack<n_pack>(grad + i), {}};
        if (result == Softmax) v.b = load_pack<n_pack>(y + i);
        return v;
      },
      [&](int64_t, int number, const Pair& v) {
        if (keeps) kept[number] = v.a;
#pragma unroll
        for (int k = 0; k < n_pack; k++) sum += gradient_term<result>(v.a.at[k], v.b.at[k]);
      },
      [&](int64_t i) { sum += gradient_term<result>(grad[i], y[i]); });
  sum = block_reduce(sum, M(0), SumOf());
  walk_row_ahead<n_pack, kPacksAhead>(
      y, n,
      [&](int64_t i, int number) {
        return Pair{keeps ? kept[number] : load_pack<n_pack>(grad + i), load_pack<n_pack>(y + i)};
      },
      [&](int64_t i, int, const Pair& v) {
        M x[n_pack];
#pragma unroll
        for (int k = 0; k < n_pack; k++) x[k] = gradient_of<result>(v.a.at[k], v.b.at[k], sum);
        store_pack(to + i, rounded_pack<T>(x));
      },
      [&](int64_t i) { to[i] = static_cast<T>(gradient_of<result>(grad[i], y[i], sum)); });
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
    sum += gradient_term<result>(grad[at + i * inner], y[at + i * inner]);
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  sum = sums[0][threadIdx.x];
  for (int k = 1; k < 8; k++) sum += sums[k][threadIdx.x];
  for (int64_t i = threadIdx.y; inside && i < n; i += blockDim.y)
    to[at + i * inner] = static_cast<T>(gradient_of<result>(grad[at + i * inner], y[at + i * inner], sum));
}
