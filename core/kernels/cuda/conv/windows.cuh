// windows.cuh: images to columns of windows and back, and adding a bias to each channel.
#pragma once
#include "device/complex.cuh"
#include "device/convert.cuh"
#include "device/packs.cuh"
// After prelude.cuh, which defines int64_t.
#include "conv/windows_params.h"

namespace undertow {

UT_DEVICE int64_t product_of(const int64_t (&v)[3]) { return v[0] * v[1] * v[2]; }

// The digits of i in the mixed base of `sizes`.
UT_DEVICE void split(int64_t i, const int64_t (&sizes)[3], int64_t (&at)[3]) {
  at[2] = i % sizes[2];
  i /= sizes[2];
  at[1] = i % sizes[1];
  at[0] = i / sizes[1];
}

// The type in which overlapping elements are added.
template <class T>
using WindowSum = Conditional<kSame<T, bool>, int32_t, OpMath<T>>;

}  // namespace undertow

// Zero where a window reaches outside the image.
template <class T>
__global__ void gather_windows(T* columns, const T* image, WindowParams p) {
  int64_t positions = product_of(p.out), taps = product_of(p.kernel), n = p.count * p.channels * taps * positions;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t position = i % positions, rest = i / positions, tap = rest % taps, plane = rest / taps;
    int64_t to[3], from[3];
    split(position, p.out, to);
    split(tap, p.kernel, from);
    int64_t offset = plane / p.channels * p.batch_stride + plane % p.channels * p.channel_stride;
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      int64_t at = to[d] * p.stride[d] + from[d] * p.dilation[d] - p.pad[d];
      inside = inside && at >= 0 && at < p.in[d];
      offset += at * p.strides[d];
    }
    columns[i] = inside ? image[offset] : convert<T>(0);
  }
}

// The transpose: each element of the image is the sum of the elements of the windows that read it, plus the bias of
// its channel if there is one.
template <class T>
__global__ void fold_windows(T* image, const T* columns, const T* bias, WindowParams p) {
  using Sum = WindowSum<T>;
  int64_t positions = product_of(p.out), taps = product_of(p.kernel), pixels = product_of(p.in);
  int64_t n = p.count * p.channels * pixels;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t plane = i / pixels, channel = plane % p.channels, at[3];
    split(i % pixels, p.in, at);
    const T* mine = columns + plane * taps * positions;
    Sum sum = bias ? convert<Sum>(bias[channel]) : Sum(0);
    for (int64_t tap = 0; tap < taps; tap++) {
      int64_t from[3], position = 0;
      split(tap, p.kernel, from);
      bool read = true;
      for (int d = 0; d < 3; d++) {
        int64_t shifted = at[d] + p.pad[d] - from[d] * p.dilation[d], window = shifted / p.stride[d];
        read = read && shifted >= 0 && shifted % p.stride[d] == 0 && window < p.out[d];
        position = position * p.out[d] + window;
      }
      if (read) sum += convert<Sum>(mine[tap * positions + position]);
    }
    int64_t offset = plane / p.channels * p.batch_stride + channel * p.channel_stride;
    for (int d = 0; d < 3; d++) offset += at[d] * p.strides[d];
    image[offset] = convert<T>(sum);
  }
}

// Adds bias[c] to each element of channel c in place; `inner` consecutive elements have the same channel. n is a
// multiple of `width`.
template <class T, int width>
__global__ void add_channel_bias(T* image, const T* bias, int64_t n, int64_t channels, int64_t inner) {
  using Math = OpMath<T>;
  for (int64_t i = thread_number() * width; i < n; i += thread_count() * width) {
    Pack<T, width> values = load_pack<width>(image + i);
    int64_t channel = i / inner % channels, place = i % inner;
    for (int j = 0; j < width; j++) {
      values.at[j] = convert<T>(convert<Math>(values.at[j]) + convert<Math>(bias[channel]));
      if (++place < inner) continue;
      place = 0;
      if (++channel == channels) channel = 0;
    }
    store_pack<width>(image + i, values);
  }
}
