// pool.cuh: windows of planes reduced to one element each, and the transposes. A thread per element of the result.
#pragma once
#include "device/convert.cuh"
#include "device/divide.cuh"
#include "device/errors.cuh"
#include "index/update.cuh"
#include "pool/pool_params.h"

namespace undertow {

// The indices first, first + step, ... below `last` along one axis.
struct Window {
  int64_t first, last, step;
};
UT_DEVICE Window window_of(const PoolAxis& a, int64_t o) {
  if (a.adaptive) return {divided(o * a.in, a.out).whole, divided((o + 1) * a.in + a.out - 1, a.out).whole, 1};
  int64_t first = o * a.stride - a.padding;
  const int64_t last = first + (a.kernel - 1) * a.dilation + 1;
  if (first < 0) first += divided(-first + a.dilation - 1, a.dilation).whole * a.dilation;
  return {first, least_of(last, a.in), a.dilation};
}
// The windows that may contain index i: the first and the last.
UT_DEVICE Window windows_with(const PoolAxis& a, int64_t i) {
  if (a.adaptive)
    return {divided(i * a.out, a.in).whole, least_of(divided((i + 1) * a.out + a.in - 1, a.in).whole, a.out), 1};
  const int64_t reach = (a.kernel - 1) * a.dilation, low = i + a.padding - reach;
  return {low <= 0 ? 0 : divided(low + a.stride - 1, a.stride).whole,
          least_of(divided(i + a.padding, a.stride).whole + 1, a.out), 1};
}
// Elements of window o along one axis, for the divisor.
UT_DEVICE int64_t size_of_window(const PoolAxis& a, int64_t o, bool with_padding) {
  const Window w = window_of(a, o);
  if (a.adaptive || !with_padding) return w.last - w.first;
  const int64_t start = o * a.stride - a.padding;
  return least_of(start + a.kernel, a.in + a.padding) - start;
}

struct PlacePool {
  int64_t plane, z, y, x;
};
UT_DEVICE PlacePool place_of(int64_t i, int64_t plane_size, int64_t height, int64_t width) {
  const Divided plane = divided(i, plane_size), line = divided(plane.rest, width), slab = divided(line.whole, height);
  return {plane.whole, slab.whole, slab.rest, line.rest};
}

template <class M>
UT_DEVICE M divisor_of(const PoolShape& s, const PoolDivisor& by, int64_t z, int64_t y, int64_t x) {
  if (by.divisor) return static_cast<M>(by.divisor);
  return static_cast<M>(size_of_window(s.axis[0], z, by.with_padding)) *
         static_cast<M>(size_of_window(s.axis[1], y, by.with_padding)) *
         static_cast<M>(size_of_window(s.axis[2], x, by.with_padding));
}

// The first largest element of a window, or the last NaN, and its index.
template <class T>
UT_DEVICE void largest_in(const T* plane, const Window& wz, const Window& wy, const Window& wx, int64_t height,
                          int64_t width, T& top, int64_t& found) {
  using M = OpMath<T>;
  found = (wz.first * height + wy.first) * width + wx.first;
  M best;
  if constexpr (kIsFloating<T>)
    best = -Limits<M>::infinity();
  else
    best = Limits<M>::lowest();
  for (int64_t k = wz.first; k < wz.last; k += wz.step)
    for (int64_t j = wy.first; j < wy.last; j += wy.step)
      for (int64_t i = wx.first; i < wx.last; i += wx.step) {
        const int64_t at = (k * height + j) * width + i;
        const M v = convert<M>(plane[at]);
        if (v > best || v != v) {
          best = v;
          found = at;
        }
      }
  top = convert<T>(best);
}

}  // namespace undertow

template <class T>
__global__ void average_windows(T* out, const T* in, int64_t n, PoolShape s, PoolDivisor by) {
  using M = OpMath<T>;
  const PoolAxis &az = s.axis[0], &ay = s.axis[1], &ax = s.axis[2];
  for (int64_t o = thread_number(); o < n; o += thread_count()) {
    const PlacePool p = place_of(o, s.out_plane, ay.out, ax.out);
    const Window wz = window_of(az, p.z), wy = window_of(ay, p.y), wx = window_of(ax, p.x);
    const T* plane = in + p.plane * s.in_plane;
    M sum = 0;
    for (int64_t k = wz.first; k < wz.last; k++)
      for (int64_t j = wy.first; j < wy.last; j++)
        for (int64_t i = wx.first; i < wx.last; i++) sum += convert<M>(plane[(k * ay.in + j) * ax.in + i]);
    out[o] = convert<T>(sum / divisor_of<M>(s, by, p.z, p.y, p.x));
  }
}

// The transpose: each input element adds up its windows.
template <class T>
__global__ void spread_windows(T* to, const T* grad, int64_t n, PoolShape s, PoolDivisor by) {
  using M = OpMath<T>;
  const PoolAxis &az = s.axis[0], &ay = s.axis[1], &ax = s.axis[2];
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const PlacePool p = place_of(i, s.in_plane, ay.in, ax.in);
    const Window wz = windows_with(az, p.z), wy = windows_with(ay, p.y), wx = windows_with(ax, p.x);
    const T* plane = grad + p.plane * s.out_plane;
    M sum = 0;
    for (int64_t z = wz.first; z < wz.last; z++)
      for (int64_t y = wy.first; y < wy.last; y++)
        for (int64_t x = wx.first; x < wx.last; x++)
          sum += convert<M>(plane[(z * ay.out + y) * ax.out + x]) / divisor_of<M>(s, by, z, y, x);
    to[i] = convert<T>(sum);
  }
}

template <class T>
__global__ void largest_of_windows(T* out, int64_t* index, const T* in, int64_t n, PoolShape s) {
  const PoolAxis &az = s.axis[0], &ay = s.axis[1], &ax = s.axis[2];
  for (int64_t o = thread_number(); o < n; o += thread_count()) {
    const PlacePool p = place_of(o, s.out_plane, ay.out, ax.out);
    largest_in(in + p.plane * s.in_plane, window_of(az, p.z), window_of(ay, p.y), window_of(ax, p.x), ay.in, ax.in,
               out[o], index[o]);
  }
}

// Windows of `kernel` elements; where they start depends on one sample per plane and axis: those of a plane are in the
// order x, y in two dimensions, and z, y, x in three.
template <class T>
__global__ void largest_of_fractional(T* out, int64_t* index, const T* in, const T* samples, int64_t n, PoolShape s,
                                      int spatial) {
  using M = OpMath<T>;
  for (int64_t o = thread_number(); o < n; o += thread_count()) {
    const PlacePool p = place_of(o, s.out_plane, s.axis[1].out, s.axis[2].out);
    const int64_t at[3] = {p.z, p.y, p.x};
    Window w[3];
    for (int d = 0; d < 3; d++) {
      const PoolAxis& a = s.axis[d];
      const int k = d - (3 - spatial);
      if (k < 0) {
        w[d] = {0, 1, 1};
        continue;
      }
      const M u = convert<M>(samples[p.plane * spatial + (spatial == 2 ? 1 - k : k)]);
      const M stride = a.out > 1 ? static_cast<M>(a.in - a.kernel) / static_cast<M>(a.out - 1) : M(0);
      const int64_t start = at[d] == a.out - 1 ? a.in - a.kernel
                                               : static_cast<int64_t>((static_cast<M>(at[d]) + u) * stride) -
                                                     static_cast<int64_t>(u * stride);
      w[d] = {start, start + a.kernel, 1};
    }
    largest_in(in + p.plane * s.in_plane, w[0], w[1], w[2], s.axis[1].in, s.axis[2].in, out[o], index[o]);
  }
}

namespace undertow {

// Where element i's index points; -1 for a wrong one.
UT_DEVICE int64_t indexed_place(const PoolIndices& indices, int64_t i) {
  const int64_t at = indices.at[i];
  if (at >= 0 && at < indices.full) return divided(i, indices.pooled).whole * indices.full + at;
  report_error(indices.slot, indices.raise, at, 0, 0);
  return -1;
}

}  // namespace undertow

template <class U>
__global__ void gather_at(U* out, const U* in, PoolIndices indices) {
  for (int64_t i = thread_number(); i < indices.n; i += thread_count()) {
    const int64_t at = indexed_place(indices, i);
    if (at >= 0) out[i] = in[at];
  }
}
template <class U>
__global__ void scatter_at(U* out, const U* in, PoolIndices indices) {
  for (int64_t i = thread_number(); i < indices.n; i += thread_count()) {
    const int64_t at = indexed_place(indices, i);
    if (at >= 0) out[at] = in[i];
  }
}
// The byte offset of every index, for sums in order.
template <int = 0>
__global__ void index_offsets(int64_t* offsets, PoolIndices indices, int64_t width) {
  for (int64_t i = thread_number(); i < indices.n; i += thread_count())
    offsets[i] = greatest_of<int64_t>(indexed_place(indices, i), 0) * width;
}
// Sums of more than two elements may differ in the last bit from run to run.
template <class T>
__global__ void add_at(T* out, const T* in, PoolIndices indices) {
  for (int64_t i = thread_number(); i < indices.n; i += thread_count()) {
    const int64_t at = indexed_place(indices, i);
    if (at >= 0) update_atomically<Add>(out + at, in[i]);
  }
}
