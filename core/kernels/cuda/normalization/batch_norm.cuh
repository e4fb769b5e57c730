// batch_norm.cuh: statistics of channels, in two stages, and the maps that use them. In memory channels are outside
// (batch, channels, inner) or innermost. A block computes the moments of a part of a channel, or of some channels if
// those are innermost; a second kernel combines the parts in order.
// T: the elements; W: statistics and arithmetic; P: weights. A thread reads n_pack neighbouring elements at once.
//
// Kernels named columns_* are for innermost channels: a thread has n_pack neighbouring ones of each row, and the block's
// second dimension shares the rows. The others are called planes_*.
#pragma once
#include "device/block_reduce.cuh"
#include "device/convert.cuh"
#include "device/divide.cuh"
#include "device/packs.cuh"
#include "device/real_math.cuh"
#include "normalization/batch_norm_params.h"

namespace undertow {

// Element j of channel c, j < batch * inner, for channels that are not innermost.
UT_DEVICE int64_t element_of(const ChannelLayout& s, int64_t c, int64_t j) {
  const Divided item = divided(j, s.inner);
  return (item.whole * s.channels + c) * s.inner + item.rest;
}
// The channel of element i.
UT_DEVICE int64_t channel_of(const ChannelLayout& s, int64_t i) {
  return divided(divided(i, s.inner).whole, s.channels).rest;
}

// Sums of deviations from a number near the mean, and of their squares: as accurate as deviations from the mean.
template <class W>
UT_DEVICE PartMoments moments_of(Two<W> sums, W shift, int64_t count) {
  const double n = static_cast<double>(count), away = static_cast<double>(sums.a) / n;
  return {static_cast<double>(shift) + away, static_cast<double>(sums.b) - static_cast<double>(sums.a) * away};
}

// Moments of two sets together (Chan's update).
struct Moments {
  double mean = 0, squares = 0, count = 0;
  UT_DEVICE void join(const Moments& more) { join({more.mean, more.squares}, more.count); }
  UT_DEVICE void join(PartMoments more, double n) {
    if (n == 0) return;
    const double away = more.mean - mean, all = count + n;
    mean += away * n / all;
    squares += more.squares + away * away * count * n / all;
    count = all;
  }
};

// The rows and channels of a block of columns_*.
template <int n_pack>
struct ColumnsPart {
  int64_t channel, first, last;
  bool inside;
  UT_DEVICE explicit ColumnsPart(const ChannelLayout& s)
      : channel((static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * n_pack),
        first(blockIdx.y * s.part),
        last(least_of(first + s.part, s.each)),
        inside(channel < s.channels) {}
};

// Adds up a value over the rows of threads; those of the first row get the result.
template <class W>
UT_DEVICE W add_up_rows(W v) {
  __shared__ W rows[256];
  const int x = threadIdx.x, y = threadIdx.y, width = blockDim.x;
  __syncthreads();
  rows[y * width + x] = v;
  __syncthreads();
  if (y == 0)
    for (int k = 1; k < blockDim.y; k++) v += rows[k * width + x];
  return v;
}

// Joins what the threads of a column of the block have, in pairs; the first row gets the result. The number of rows is a
// power of two.
template <class V, class F>
UT_DEVICE void join_rows(V& v, F&& join) {
  alignas(16) __shared__ char memory[kSettleThreads * sizeof(V)];
  V* own = reinterpret_cast<V*>(memory) + threadIdx.y * blockDim.x + threadIdx.x;
  *own = v;
  for (int half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) {
      join(v, own[half * blockDim.x]);
      *own = v;
    }
  }
}

}  // namespace undertow

// blockIdx.x: the channel; blockIdx.y: the part.
template <class T, class W, int n_pack>
__global__ void planes_moments(PartMoments* out, const T* x, ChannelLayout s) {
  const int64_t c = blockIdx.x, first = blockIdx.y * s.part, last = least_of(first + s.part, s.each);
  const int64_t near = least_of(first + static_cast<int64_t>(blockDim.x), last);
  W guess = 0;
  if (first + threadIdx.x < near) guess = convert<W>(x[element_of(s, c, first + threadIdx.x)]);
  const W shift = block_reduce(guess, W(0), SumOf()) / static_cast<W>(near > first ? near - first : 1);
  Two<W> sums = {0, 0};
  for (int64_t j = first + threadIdx.x * n_pack; j < last; j += blockDim.x * n_pack) {
    const Pack<T, n_pack> v = load_pack<n_pack>(x + element_of(s, c, j));
#pragma unroll
    for (int k = 0; k < n_pack; k++) {
      const W d = convert<W>(v.at[k]) - shift;
      sums.a += d;
      sums.b += d * d;
    }
  }
  sums = block_reduce(sums, Two<W>{0, 0}, SumOf());
  if (threadIdx.x == 0) out[blockIdx.y * s.channels + c] = moments_of(sums, shift, last - first);
}

template <class T, class W, int n_pack>
__global__ void columns_moments(PartMoments* out, const T* x, ChannelLayout s) {
  const ColumnsPart<n_pack> part(s);
  // The shift: the mean of the part's first rows.
  const int64_t guessed = least_of(part.last - part.first, static_cast<int64_t>(4));
  W shift[n_pack] = {}, a[n_pack] = {}, b[n_pack] = {};
  if (part.inside) {
    for (int64_t row = part.first; row < part.first + guessed; row++) {
      const Pack<T, n_pack> v = load_pack<n_pack>(x + row * s.channels + part.channel);
      for (int k = 0; k < n_pack; k++) shift[k] += convert<W>(v.at[k]);
    }
    for (int k = 0; k < n_pack; k++) shift[k] /= static_cast<W>(guessed);
#pragma unroll 4
    for (int64_t row = part.first + threadIdx.y; row < part.last; row += blockDim.y) {
      const Pack<T, n_pack> v = load_pack<n_pack>(x + row * s.channels + part.channel);
#pragma unroll
      for (int k = 0; k < n_pack; k++) {
        const W d = convert<W>(v.at[k]) - shift[k];
        a[k] += d;
        b[k] += d * d;
      }
    }
  }
#pragma unroll
  for (int k = 0; k < n_pack; k++) {
    const Two<W> sums = {add_up_rows(a[k]), add_up_rows(b[k])};
    if (threadIdx.y == 0 && part.inside)
      out[blockIdx.y * s.channels + part.channel + k] = moments_of(sums, shift[k], part.last - part.first);
  }
}

// Combines the parts of each channel; rounds the statistics to S, their stored type; updates the running statistics.
// A column of threads per channel: joining hundreds of parts one after another would take longer than computing them.
template <class W, class S, class Running>
__global__ void __launch_bounds__(kSettleThreads)
    settle_moments(W* mean, W* rstd, Running* running_mean, Running* running_var, const PartMoments* parts,
                   ChannelLayout s, double momentum, double eps) {
  const int64_t c = thread_number();
  Moments all;
  for (int64_t k = threadIdx.y; c < s.channels && k < s.parts; k += blockDim.y)
    all.join(parts[k * s.channels + c], static_cast<double>(least_of(s.part, s.each - k * s.part)));
  join_rows(all, [](Moments& to, const Moments& more) { to.join(more); });
  if (c >= s.channels || threadIdx.y) return;
  mean[c] = convert<W>(convert<S>(all.mean));
  rstd[c] = convert<W>(convert<S>(1 / sqrt(all.squares / all.count + eps)));
  if (s.each == 0) return;
  auto follow = [&](Running* running, double seen) {
    if (running) running[c] = convert<Running>((1 - momentum) * convert<double>(running[c]) + momentum * seen);
  };
  follow(running_mean, all.mean);
  follow(running_var, all.squares / (all.count - 1));
}

namespace undertow {

// out = (x - mean) * scale + bias for one channel. `second` is rstd, or the variance if `from_variance`; statistics of
// type S.
template <class W>
struct ChannelMap {
  W mean, scale, bias;
  template <class S, class P>
  UT_DEVICE void load(const S* means, const S* second, const P* weight, const P* shifts, int64_t c, bool from_variance,
                      double eps) {
    mean = convert<W>(means[c]);
    scale = from_variance ? static_cast<W>(1 / sqrt(convert<double>(second[c]) + eps)) : convert<W>(second[c]);
    if (weight) scale *= convert<W>(weight[c]);
    bias = shifts ? convert<W>(shifts[c]) : W(0);
  }
  UT_DEVICE W operator()(W x) const { return (x - mean) * scale + bias; }
};

}  // namespace undertow

template <class T, class W, class S, class P, int n_pack, bool from_variance>
__global__ void planes_normalise(T* out, const T* x, const S* mean, const S* second, const P* weight, const P* bias,
                                 ChannelLayout s, double eps) {
  const int64_t n = s.each * s.channels;
  for (int64_t i = thread_number() * n_pack; i < n; i += thread_count() * n_pack) {
    Pack<T, n_pack> v = load_pack<n_pack>(x + i);
    ChannelMap<W> map;
    map.load(mean, second, weight, bias, channel_of(s, i), from_variance, eps);
#pragma unroll
    for (int k = 0; k < n_pack; k++) v.at[k] = convert<T>(map(convert<W>(v.at[k])));
    store_pack(out + i, v);
  }
}
template <class T, class W, class S, class P, int n_pack, bool from_variance>
__global__ void columns_normalise(T* out, const T* x, const S* mean, const S* second, const P* weight, const P* bias,
                                  ChannelLayout s, double eps) {
  const ColumnsPart<n_pack> part(s);
  if (!part.inside) return;
  ChannelMap<W> map[n_pack];
#pragma unroll
  for (int k = 0; k < n_pack; k++) map[k].load(mean, second, weight, bias, part.channel + k, from_variance, eps);
#pragma unroll 4
  for (int64_t row = part.first + threadIdx.y; row < part.last; row += blockDim.y) {
    Pack<T, n_pack> v = load_pack<n_pack>(x + row * s.channels + part.channel);
#pragma unroll
    for (int k = 0; k < n_pack; k++) v.at[k] = convert<T>(map[k](convert<W>(v.at[k])));
    store_pack(out + row * s.channels + part.channel, v);
  }
}

// Sums of grad and of grad * (x - mean) over a part of a channel.
template <class T, class W, class S, int n_pack>
__global__ void planes_sums(PartSums* out, const T* grad, const T* x, const S* mean, ChannelLayout s) {
  const int64_t c = blockIdx.x, first = blockIdx.y * s.part, last = least_of(first + s.part, s.each);
  const W m = convert<W>(mean[c]);
  Two<W> sums = {0, 0};
  for (int64_t j = first + threadIdx.x * n_pack; j < last; j += blockDim.x * n_pack) {
    const int64_t i = element_of(s, c, j);
    const Pack<T, n_pack> g = load_pack<n_pack>(grad + i), v = load_pack<n_pack>(x + i);
#pragma unroll
    for (int k = 0; k < n_pack; k++) {
      sums.a += convert<W>(g.at[k]);
      sums.b += convert<W>(g.at[k]) * (convert<W>(v.at[k]) - m);
    }
  }
  sums = block_reduce(sums, Two<W>{0, 0}, SumOf());
  if (threadIdx.x == 0) out[blockIdx.y * s.channels + c] = {static_cast<double>(sums.a), static_cast<double>(sums.b)};
}
template <class T, class W, class S, int n_pack>
__global__ void columns_sums(PartSums* out, const T* grad, const T* x, const S* mean, ChannelLayout s) {
  const ColumnsPart<n_pack> part(s);
  W m[n_pack] = {}, a[n_pack] = {}, b[n_pack] = {};
  if (part.inside) {
    for (int k = 0; k < n_pack; k++) m[k] = convert<W>(mean[part.channel + k]);
#pragma unroll 4
    for (int64_t row = part.first + threadIdx.y; row < part.last; row += blockDim.y) {
      const int64_t at = row * s.channels + part.channel;
      const Pack<T, n_pack> g = load_pack<n_pack>(grad + at), v = load_pack<n_pack>(x + at);
#pragma unroll
      for (int k = 0; k < n_pack; k++) {
        a[k] += convert<W>(g.at[k]);
        b[k] += convert<W>(g.at[k]) * (convert<W>(v.at[k]) - m[k]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < n_pack; k++) {
    const W sum = add_up_rows(a[k]), dot = add_up_rows(b[k]);
    if (threadIdx.y == 0 && part.inside)
      out[blockIdx.y * s.channels + part.channel + k] = {static_cast<double>(sum), static_cast<double>(dot)};
  }
}

// The gradients of weight and bias, and each channel's three coefficients of the input gradient, in `by`: it is
// grad * by[0] + ((x - mean) * by[1] + by[2]). A column of threads per channel.
template <class W, class S, class P, bool training>
__global__ void __launch_bounds__(kSettleThreads)
    settle_sums(P* weight_grad, P* bias_grad, W* by, const PartSums* parts, const P* weight, const S* second,
                ChannelLayout s, double eps) {
  const int64_t c = thread_number();
  PartSums all = {0, 0};
  auto add = [](PartSums& to, const PartSums& more) {
    to.sum += more.sum;
    to.dot += more.dot;
  };
  for (int64_t k = threadIdx.y; parts && c < s.channels && k < s.parts; k += blockDim.y)
    add(all, parts[k * s.channels + c]);
  join_rows(all, add);
  if (c >= s.channels || threadIdx.y) return;
  const auto [sum, dot] = all;
  const W stored = training ? convert<W>(second[c]) : static_cast<W>(1 / sqrt(convert<double>(second[c]) + eps));
  const double rstd = static_cast<double>(stored), scale = rstd * (weight ? convert<double>(weight[c]) : 1.0),
               over = 1 / static_cast<double>(s.each);
  weight_grad[c] = convert<P>(dot * rstd);
  bias_grad[c] = convert<P>(sum);
  by[c] = static_cast<W>(scale);
  by[s.channels + c] = training ? static_cast<W>(-scale * rstd * rstd * dot * over) : W(0);
  by[2 * s.channels + c] = training ? static_cast<W>(-scale * sum * over) : W(0);
}

template <class T, class W, class S, int n_pack, bool training>
__global__ void planes_backward(T* to, const T* grad, const T* x, const S* mean, const W* by, ChannelLayout s) {
  const int64_t n = s.each * s.channels;
  for (int64_t i = thread_number() * n_pack; i < n; i += thread_count() * n_pack) {
    const int64_t c = channel_of(s, i);
    Pack<T, n_pack> g = load_pack<n_pack>(grad + i), v{};
    if (training) v = load_pack<n_pack>(x + i);
    const W m = convert<W>(mean[c]), a = by[c], b = by[s.channels + c], e = by[2 * s.channels + c];
#pragma unroll
    for (int k = 0; k < n_pack; k++) {
      W result = convert<W>(g.at[k]) * a;
      if (training) result += (convert<W>(v.at[k]) - m) * b + e;
      g.at[k] = convert<T>(result);
    }
    store_pack(to + i, g);
  }
}
template <class T, class W, class S, int n_pack, bool training>
__global__ void columns_backward(T* to, const T* grad, const T* x, const S* mean, const W* by, ChannelLayout s) {
  const ColumnsPart<n_pack> part(s);
  if (!part.inside) return;
  W m[n_pack], a[n_pack], b[n_pack], e[n_pack];
#pragma unroll
  for (int k = 0; k < n_pack; k++) {
    m[k] = convert<W>(mean[part.channel + k]);
    a[k] = by[part.channel + k];
    b[k] = by[s.channels + part.channel + k];
    e[k] = by[2 * s.channels + part.channel + k];
  }
#pragma unroll 2
  for (int64_t row = part.first + threadIdx.y; row < part.last; row += blockDim.y) {
    const int64_t at = row * s.channels + part.channel;
    Pack<T, n_pack> g = load_pack<n_pack>(grad + at), v{};
    if (training) v = load_pack<n_pack>(x + at);
#pragma unroll
    for (int k = 0; k < n_pack; k++) {
      W result = convert<W>(g.at[k]) * a[k];
      if (training) result += (convert<W>(v.at[k]) - m[k]) * b[k] + e[k];
      g.at[k] = convert<T>(result);
    }
    store_pack(to + at, g);
  }
}
