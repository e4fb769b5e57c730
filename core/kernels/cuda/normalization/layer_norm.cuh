// layer_norm.cuh: normalisation of rows, and its derivatives. A row belongs to a warp or a block, whose threads keep it
// in registers: `packs` packs of n_pack elements each. T: the elements; W: statistics and arithmetic; P: weights.
#pragma once
#include "device/block_reduce.cuh"
#include "device/convert.cuh"
#include "device/packs.cuh"
#include "device/real_math.cuh"
#include "normalization/layer_norm_params.h"

namespace undertow {

// The threads of a row, and which rows they have.
template <bool whole_block>
struct RowGroup {
  int lane, lanes;
  int64_t first, step;
  UT_DEVICE RowGroup() {
    if (whole_block) {
      lane = threadIdx.x;
      lanes = blockDim.x;
      first = blockIdx.x;
      step = gridDim.x;
    } else {
      const int warps = blockDim.x >> 5;
      lane = threadIdx.x & 31;
      lanes = 32;
      first = static_cast<int64_t>(blockIdx.x) * warps + (threadIdx.x >> 5);
      step = static_cast<int64_t>(gridDim.x) * warps;
    }
  }
};

}  // namespace undertow

template <class T, class W, class P, int n_pack, int packs, bool whole_block>
__global__ void __launch_bounds__(whole_block ? kRowThreads : kWarpRowThreads) layer_norm_rows(LayerNormParams<T, W, P> a) {
  const RowGroup<whole_block> group;
  const int n = static_cast<int>(a.n);
  const W over = W(1) / static_cast<W>(n);
  for (int64_t row = group.first; row < a.rows; row += group.step) {
    const T* from = a.x + row * n;
    W x[packs][n_pack], sum = 0;
#pragma unroll
    for (int p = 0; p < packs; p++) {
      const int at = (p * group.lanes + group.lane) * n_pack;
      if (at < n) {
        const Pack<T, n_pack> v = load_pack<n_pack>(from + at);
#pragma unroll
        for (int k = 0; k < n_pack; k++) sum += x[p][k] = static_cast<W>(v.at[k]);
      }
    }
    const W mean = a.mean ? group_reduce<whole_block>(sum, W(0), SumOf()) * over : W(0);
    W squares = 0;
#pragma unroll
    for (int p = 0; p < packs; p++)
      if ((p * group.lanes + group.lane) * n_pack < n)
#pragma unroll
        for (int k = 0; k < n_pack; k++) squares += (x[p][k] - mean) * (x[p][k] - mean);
    squares = group_reduce<whole_block>(squares, W(0), SumOf());
    const W rstd = W(1) / real_sqrt(squares * over + a.eps);
    if (group.lane == 0) {
      if (a.mean) a.mean[row] = mean;
      a.rstd[row] = rstd;
    }
    T* to = a.out + row * n;
#pragma unroll
    for (int p = 0; p < packs; p++) {
      const int at = (p * group.lanes + group.lane) * n_pack;
      if (at < n) {
        Pack<P, n_pack> w, b;
        if (a.weight) w = load_pack<n_pack>(a.weight + at);
        if (a.bias) b = load_pack<n_pack>(a.bias + at);
        Pack<T, n_pack> v;
#pragma unroll
        for (int k = 0; k < n_pack; k++) {
          W y = (x[p][k] - mean) * rstd;
          if (a.weight) y *= convert<W>(w.at[k]);
          if (a.bias) y += convert<W>(b.at[k]);
          v.at[k] = static_cast<T>(y);
        }
        store_pack(to + at, v);
      }
    }
  }
}

namespace undertow {

// n neighbouring elements from any address.
template <int n, class T>
UT_DEVICE Pack<T, n> load_any(const T* p) {
  if (reinterpret_cast<uintptr_t>(p) % alignof(Pack<T, n>) == 0) return load_pack<n>(p);
  Pack<T, n> v;
#pragma unroll
  for (int k = 0; k < n; k++) v.at[k] = p[k];
  return v;
}

}  // namespace undertow

// A row that does not fit registers is read twice, the second time from the cache. Rows may begin anywhere. Statistics
// are sums of deviations from the mean of the first elements: as accurate as deviations from the mean.
template <class T, class W, class P, int n_pack>
__global__ void __launch_bounds__(kRowThreads) layer_norm_long(LayerNormParams<T, W, P> a) {
  const T* x = a.x + blockIdx.x * a.n;
  T* to = a.out + blockIdx.x * a.n;
  const W over = W(1) / static_cast<W>(a.n);
  W shift = 0;
  if (a.mean) shift = block_reduce(convert<W>(x[threadIdx.x]), W(0), SumOf()) / static_cast<W>(blockDim.x);
  Two<W> sums = {0, 0};  // of deviations and of their squares
  auto add = [&](T element) {
    const W d = convert<W>(element) - shift;
    sums.a += d;
    sums.b += d * d;
  };
  walk_row<n_pack>(
      x, a.n,
      [&](int64_t i) {
        const Pack<T, n_pack> v = load_pack<n_pack>(x + i);
#pragma unroll
        for (int k = 0; k < n_pack; k++) add(v.at[k]);
      },
      [&](int64_t i) { add(x[i]); });
  sums = block_reduce(sums, Two<W>{0, 0}, SumOf());
  const W away = a.mean ? sums.a * over : W(0), mean = shift + away;
  const W rstd = W(1) / real_sqrt(greatest_of(sums.b - sums.a * away, W(0)) * over + a.eps);
  if (threadIdx.x == 0) {
    if (a.mean) a.mean[blockIdx.x] = mean;
    a.rstd[blockIdx.x] = rstd;
  }
  auto normalised = [&](T element, const P& w, const P& b) {
    W y = (convert<W>(element) - mean) * rstd;
    if (a.weight) y *= convert<W>(w);
    if (a.bias) y += convert<W>(b);
    return convert<T>(y);
  };
  walk_row<n_pack>(
      x, a.n,
      [&](int64_t i) {
        Pack<T, n_pack> v = load_pack<n_pack>(x + i);
        Pack<P, n_pack> w, b;
        if (a.weight) w = load_any<n_pack>(a.weight + i);
        if (a.bias) b = load_any<n_pack>(a.bias + i);
#pragma unroll
        for (int k = 0; k < n_pack; k++) v.at[k] = normalised(v.at[k], w.at[k], b.at[k]);
        store_pack(to + i, v);
      },
      [&](int64_t i) { to[i] = normalised(x[i], a.weight ? a.weight[i] : P(0.0f), a.bias ? a.bias[i] : P(0.0f)); });
}

namespace undertow {

// x^ = (x - mean) * rstd, h = grad * weight: to = rstd * (h - mean(h) - x^ * mean(h * x^)) = h * rstd + (x - mean) * b
// + c.
template <class W>
struct RowSlopes {
  W b, c;
  UT_DEVICE RowSlopes(Two<W> sums, W rstd, W over, bool centred)
      : b(-sums.b * rstd * rstd * rstd * over), c(centred ? -sums.a * rstd * over : W(0)) {}
};

}  // namespace undertow

// Each group of threads keeps sums for the weight and the bias over all its rows; a block writes one row of each into
// weight_parts and bias_parts.
template <class T, class W, class P, int n_pack, int packs, bool whole_block>
__global__ void __launch_bounds__(whole_block ? kRowThreads : kWarpRowThreads) layer_norm_rows_backward(LayerNormBackwardParams<T, W, P> a) {
  const RowGroup<whole_block> group;
  const int n = static_cast<int>(a.n);
  const W over = W(1) / static_cast<W>(n);
  W weight_sum[packs][n_pack] = {}, bias_sum[packs][n_pack] = {};
  for (int64_t row = group.first; row < a.rows; row += group.step) {
    const T *grad = a.grad + row * n, *from = a.x + row * n;
    const W mean = a.mean ? a.mean[row] : W(0), rstd = a.rstd[row];
    W h[packs][n_pack], x[packs][n_pack];
    Two<W> sums = {0, 0};
#pragma unroll
    for (int p = 0; p < packs; p++) {
      const int at = (p * group.lanes + group.lane) * n_pack;
      if (at < n) {
        const Pack<T, n_pack> g = load_pack<n_pack>(grad + at), v = load_pack<n_pack>(from + at);
        Pack<P, n_pack> w;
        if (a.weight) w = load_pack<n_pack>(a.weight + at);
#pragma unroll
        for (int k = 0; k < n_pack; k++) {
          x[p][k] = static_cast<W>(v.at[k]) - mean;
          h[p][k] = static_cast<W>(g.at[k]);
          weight_sum[p][k] += h[p][k] * (x[p][k] * rstd);
          bias_sum[p][k] += h[p][k];
          if (a.weight) h[p][k] *= convert<W>(w.at[k]);
          sums.a += h[p][k];
          sums.b += h[p][k] * x[p][k];
        }
      }
    }
    if (!a.to) continue;
    sums = group_reduce<whole_block>(sums, Two<W>{0, 0}, SumOf());
    const RowSlopes<W> by(sums, rstd, over, a.mean != nullptr);
    T* to = a.to + row * n;
#pragma unroll
    for (int p = 0; p < packs; p++) {
      const int at = (p * group.lanes + group.lane) * n_pack;
      if (at < n) {
        Pack<T, n_pack> v;
#pragma unroll
        for (int k = 0; k < n_pack; k++) v.at[k] = static_cast<T>(h[p][k] * rstd + (x[p][k] * by.b + by.c));
        store_pack(to + at, v);
      }
    }
  }
  if (!a.weight_parts && !a.bias_parts) return;
  if constexpr (!whole_block) {
    // The first warp adds up the others', one after the other.
    __shared__ W other[2 * packs * n_pack][32];
    const int warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    for (int k = 1; k < warps; k++) {
      if (warp == k)
#pragma unroll
        for (int i = 0; i < packs * n_pack; i++) {
          other[2 * i][group.lane] = weight_sum[i / n_pack][i % n_pack];
          other[2 * i + 1][group.lane] = bias_sum[i / n_pack][i % n_pack];
        }
      __syncthreads();
      if (warp == 0)
#pragma unroll
        for (int i = 0; i < packs * n_pack; i++) {
          weight_sum[i / n_pack][i % n_pack] += other[2 * i][group.lane];
          bias_sum[i / n_pack][i % n_pack] += other[2 * i + 1][group.lane];
        }
      __syncthreads();
    }
    if (warp != 0) return;
  }
#pragma unroll
  for (int p = 0; p < packs; p++) {
    const int at = (p * group.lanes + group.lane) * n_pack;
    if (at < n)
#pragma unroll
      for (int k = 0; k < n_pack; k++) {
        if (a.weight_parts) a.weight_parts[static_cast<int64_t>(blockIdx.x) * n + at + k] = weight_sum[p][k];
        if (a.bias_parts) a.bias_parts[static_cast<int64_t>(blockIdx.x) * n + at + k] = bias_sum[p][k];
      }
  }
}

// The input gradient of rows of any length, a block per row.
template <class T, class W, class P, int n_pack>
__global__ void __launch_bounds__(kRowThreads) layer_norm_long_backward(LayerNormBackwardParams<T, W, P> a) {
  const int64_t row = blockIdx.x * a.n, first = threadIdx.x * n_pack, step = blockDim.x * n_pack;
  const T *grad = a.grad + row, *x = a.x + row;
  const W mean = a.mean ? a.mean[blockIdx.x] : W(0), rstd = a.rstd[blockIdx.x];
  // Calls f(k, h, x - mean) for a pack from i on.
  auto walk = [&](int64_t i, auto&& f) {
    const Pack<T, n_pack> g = load_pack<n_pack>(grad + i), v = load_pack<n_pack>(x + i);
    Pack<P, n_pack> w;
    if (a.weight) w = load_pack<n_pack>(a.weight + i);
#pragma unroll
    for (int k = 0; k < n_pack; k++) {
      W h = convert<W>(g.at[k]);
      if (a.weight) h *= convert<W>(w.at[k]);
      f(k, h, convert<W>(v.at[k]) - mean);
    }
  };
  Two<W> sums = {0, 0};
  for (int64_t i = first; i < a.n; i += step)
    walk(i, [&](int, W h, W d) {
      sums.a += h;
      sums.b += h * d;
    });
  sums = block_reduce(sums, Two<W>{0, 0}, SumOf());
  const RowSlopes<W> by(sums, rstd, W(1) / static_cast<W>(a.n), a.mean != nullptr);
  for (int64_t i = first; i < a.n; i += step) {
    Pack<T, n_pack> to;
    walk(i, [&](int k, W h, W d) { to.at[k] = convert<T>(h * rstd + (d * by.b + by.c)); });
    store_pack(a.to + row + i, to);
  }
}
// The sums for weight and bias over `rows_each` rows, of 32 columns per block of 32 x 8 threads.
template <class T, class W, class P>
__global__ void layer_norm_long_sums(LayerNormBackwardParams<T, W, P> a, int64_t rows_each) {
  __shared__ W weight_sums[8][33], bias_sums[8][33];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x, first = blockIdx.y * rows_each,
                last = least_of(first + rows_each, a.rows);
  W weight = 0, bias = 0;
  if (column < a.n)
    for (int64_t row = first + threadIdx.y; row < last; row += 8) {
      const W g = static_cast<W>(a.grad[row * a.n + column]);
      const W x = static_cast<W>(a.x[row * a.n + column]) - (a.mean ? a.mean[row] : W(0));
      weight += g * (x * a.rstd[row]);
      bias += g;
    }
  weight_sums[threadIdx.y][threadIdx.x] = weight;
  bias_sums[threadIdx.y][threadIdx.x] = bias;
  __syncthreads();
  if (threadIdx.y || column >= a.n) return;
  for (int k = 1; k < 8; k++) {
    weight += weight_sums[k][threadIdx.x];
    bias += bias_sums[k][threadIdx.x];
  }
  if (a.weight_parts) a.weight_parts[blockIdx.y * a.n + column] = weight;
  if (a.bias_parts) a.bias_parts[blockIdx.y * a.n + column] = bias;
}

// Adds up the rows of a table: 32 columns per block of 32 x 32 threads. The second table is added if blockIdx.y is 1.
template <class W, class P>
__global__ void __launch_bounds__(1024) add_up_parts(P* first_sums, const W* first_parts, P* second_sums, const W* second_parts, int64_t rows,
                             int64_t n) {
  __shared__ W sums[32][33];
  P* to = blockIdx.y ? second_sums : first_sums;
  const W* parts = blockIdx.y ? second_parts : first_parts;
  if (!to) return;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
  W sum = 0;
  if (column < n)
#pragma unroll 4
    for (int64_t row = threadIdx.y; row < rows; row += 32) sum += parts[row * n + column];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  // Transposed: a warp adds up one column.
  const int64_t own = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.y;
  sum = warp_reduce(sums[threadIdx.x][threadIdx.y], SumOf());
  if (threadIdx.x == 0 && own < n) to[own] = convert<P>(sum);
}
