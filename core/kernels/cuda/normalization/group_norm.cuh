// group_norm.cuh: normalisation of groups of channels, with one weight per channel, and its derivatives.
#pragma once
#include "device/block_reduce.cuh"
#include "device/real_math.cuh"
#include "normalization/group_norm_params.h"

// A block per group of an item: its elements are adjacent in memory.
template <class T>
__global__ void group_norm_blocks(T* out, T* mean_of, T* rstd_of, const T* x, const T* weight, const T* bias,
                                  GroupLayout s, T eps) {
  const int64_t each = s.per_group * s.inner, group = blockIdx.x, channel = group % s.groups * s.per_group;
  const T over = T(1) / static_cast<T>(each);
  x += group * each;
  out += group * each;
  T sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < each; i += blockDim.x) sum += x[i];
  const T mean = block_reduce(sum, T(0), SumOf()) * over;
  for (int64_t i = threadIdx.x; i < each; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
  const T rstd = T(1) / real_sqrt(block_reduce(squares, T(0), SumOf()) * over + eps);
  if (threadIdx.x == 0) {
    mean_of[group] = mean;
    rstd_of[group] = rstd;
  }
  for (int64_t i = threadIdx.x; i < each; i += blockDim.x) {
    const int64_t c = channel + i / s.inner;
    out[i] = (x[i] - mean) * (weight ? rstd * weight[c] : rstd) + (bias ? bias[c] : T(0));
  }
}

// For each channel of each item, a warp: the sums of grad and of grad * (x - mean).
template <class T>
__global__ void group_channel_sums(T* sums, T* dots, const T* grad, const T* x, const T* mean_of, GroupLayout s) {
  const int64_t segment = thread_number() >> 5;
  if (segment >= s.batch * s.channels) return;
  const T mean = mean_of[segment / s.per_group];
  grad += segment * s.inner;
  x += segment * s.inner;
  Two<T> both = {0, 0};
  for (int64_t i = threadIdx.x & 31; i < s.inner; i += 32) {
    both.a += grad[i];
    both.b += grad[i] * (x[i] - mean);
  }
  both = warp_reduce(both, SumOf());
  if ((threadIdx.x & 31) == 0) {
    sums[segment] = both.a;
    dots[segment] = both.b;
  }
}

// The gradients of weight and bias: a thread per channel adds up the items.
template <class T>
__global__ void group_weight_grads(T* weight_grad, T* bias_grad, const T* sums, const T* dots, const T* rstd,
                                   GroupLayout s) {
  const int64_t c = thread_number();
  if (c >= s.channels) return;
  double sum = 0, dot = 0;
  for (int64_t n = 0; n < s.batch; n++) {
    sum += static_cast<double>(sums[n * s.channels + c]);
    dot += static_cast<double>(dots[n * s.channels + c]) * static_cast<double>(rstd[n * s.groups + c / s.per_group]);
  }
  weight_grad[c] = static_cast<T>(dot);
  bias_grad[c] = static_cast<T>(sum);
}

// The input gradient: a block per group of an item. As for rows, with h = grad * weight.
template <class T>
__global__ void group_norm_backward_blocks(T* to, const T* grad, const T* x, const T* mean_of, const T* rstd_of,
                                           const T* weight, const T* sums, const T* dots, GroupLayout s) {
  const int64_t each = s.per_group * s.inner, group = blockIdx.x, channel = group % s.groups * s.per_group;
  const T mean = mean_of[group], rstd = rstd_of[group], over = T(1) / static_cast<T>(each);
  Two<T> both = {0, 0};
  for (int64_t j = threadIdx.x; j < s.per_group; j += blockDim.x) {
    const T scale = weight ? weight[channel + j] : T(1);
    both.a += sums[group * s.per_group + j] * scale;
    both.b += dots[group * s.per_group + j] * scale;
  }
  both = block_reduce(both, Two<T>{0, 0}, SumOf());
  const T b = -both.b * rstd * rstd * rstd * over, c = -both.a * rstd * over;
  for (int64_t i = threadIdx.x; i < each; i += blockDim.x) {
    const T scale = weight ? rstd * weight[channel + i / s.inner] : rstd;
    to[group * each + i] = grad[group * each + i] * scale + ((x[group * each + i] - mean) * b + c);
  }
}
