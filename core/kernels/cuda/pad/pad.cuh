// pad.cuh: padding with elements of the input or with one value. Gradients are gathered: each input element adds up the
// output elements that were read from it, in their order.
#pragma once
#include "device/complex.cuh"
#include "device/convert.cuh"
#include "device/divide.cuh"
#include "pad/pad_params.h"

namespace undertow {

// In the order of the host's PadMode.
enum PadFrom { Reflect, Replicate, Circular };

// The input index for output index j.
template <PadFrom mode>
UT_DEVICE int64_t pad_source(const PaddedAxis& a, int64_t j) {
  const int64_t i = j - a.left;
  if (mode == Replicate) return i < 0 ? 0 : i >= a.in ? a.in - 1 : i;
  if (mode == Reflect) return i < 0 ? -i : i >= a.in ? 2 * (a.in - 1) - i : i;
  const int64_t at = (j - a.begin) % a.inside;  // the elements left after cropping repeat
  return a.from + (at < 0 ? at + a.inside : at);
}

// The output indices that read input index i: first, first + step, ... below `end`. A reflection has up to three, of
// which others(k) is the k-th.
template <PadFrom mode>
struct PadReaders {
  int64_t first, step, end;
  int64_t mirrored[3];
  UT_DEVICE PadReaders(const PaddedAxis& a, int64_t i) {
    if (mode == Reflect) {
      mirrored[0] = i > 0 ? a.left - i : -1;
      mirrored[1] = a.left + i;
      mirrored[2] = i < a.in - 1 ? a.left + 2 * (a.in - 1) - i : -1;
      first = 0;
      step = 1;
      end = 3;
    } else if (mode == Replicate) {
      first = i == 0 ? 0 : a.left + i;
      end = i == a.in - 1 ? a.out : a.left + i + 1;
      if (first < 0) first = 0;
      if (end > a.out) end = a.out;
      step = 1;
    } else {
      const int64_t at = i - a.from;
      first = (a.begin + at) % a.inside;
      step = a.inside;
      end = at < 0 || at >= a.inside ? 0 : a.out;
    }
  }
  // -1: none.
  UT_DEVICE int64_t reader(const PaddedAxis& a, int64_t k) const {
    if (mode != Reflect) return k;
    return mirrored[k] >= 0 && mirrored[k] < a.out ? mirrored[k] : -1;
  }
};

}  // namespace undertow

template <class U, PadFrom mode>
__global__ void pad_planes(U* out, const U* in, int64_t n, PaddedVolume v) {
  const PaddedAxis &az = v.axes[0], &ay = v.axes[1], &ax = v.axes[2];
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const Divided plane = divided(i, v.out_plane), line = divided(plane.rest, ax.out), slab = divided(line.whole, ay.out);
    out[i] = in[plane.whole * v.in_plane +
                (pad_source<mode>(az, slab.whole) * ay.in + pad_source<mode>(ay, slab.rest)) * ax.in +
                pad_source<mode>(ax, line.rest)];
  }
}

template <class T, PadFrom mode>
__global__ void pad_planes_backward(T* to, const T* grad, int64_t n, PaddedVolume v) {
  using M = OpMath<T>;
  const PaddedAxis &az = v.axes[0], &ay = v.axes[1], &ax = v.axes[2];
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const Divided plane = divided(i, v.in_plane), line = divided(plane.rest, ax.in), slab = divided(line.whole, ay.in);
    const PadReaders<mode> rx(ax, line.rest), ry(ay, slab.rest), rz(az, slab.whole);
    const T* from = grad + plane.whole * v.out_plane;
    M sum = M(0.0f);
    for (int64_t kz = rz.first; kz < rz.end; kz += rz.step) {
      const int64_t z = rz.reader(az, kz);
      for (int64_t ky = ry.first; z >= 0 && ky < ry.end; ky += ry.step) {
        const int64_t y = ry.reader(ay, ky);
        for (int64_t kx = rx.first; y >= 0 && kx < rx.end; kx += rx.step) {
          const int64_t x = rx.reader(ax, kx);
          if (x >= 0) sum += convert<M>(from[(z * ay.out + y) * ax.out + x]);
        }
      }
    }
    to[i] = convert<T>(sum);
  }
}

template <class U>
__global__ void pad_constant(U* out, const U* in, const U* value, int64_t n, PaddedDims dims) {
  const U filler = *value;
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    int64_t rest = i, at = 0, scale = 1;
    bool inside = true;
    for (int d = dims.ndim - 1; d >= 0; d--) {
      const Divided next = divided(rest, dims.out[d]);
      const int64_t place = next.rest - dims.left[d];
      inside &= place >= 0 && place < dims.in[d];
      at += place * scale;
      scale *= dims.in[d];
      rest = next.whole;
    }
    out[i] = inside ? in[at] : filler;
  }
}
