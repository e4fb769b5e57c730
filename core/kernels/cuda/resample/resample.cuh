// resample.cuh: interpolation. Filters are applied one axis after the other; nearest elements are copied at once. The
// weights are those of kernels/cpu/resample/taps.cpp. Transposes are gathered: each input element adds up the outputs
// that read it, in order.
#pragma once
#include "device/convert.cuh"
#include "device/divide.cuh"
#include "resample/resample_params.h"

namespace undertow {

// In the order of the host's Resampling::Filter.
enum ResampleFilter { NearestFilter, NearestExactFilter, LinearFilter, CubicFilter, LanczosFilter };

UT_DEVICE int64_t within(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

// Keys' cubic with parameter a, at distance x.
UT_DEVICE double cubic(double x, double a) {
  x = fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
}
UT_DEVICE double sinc(double x) { return x == 0 ? 1.0 : sin(x * 3.141592653589793) / (x * 3.141592653589793); }

UT_DEVICE double antialias_weight(int filter, double x) {
  if (filter == CubicFilter) return cubic(x, -0.5);
  if (filter == LanczosFilter) return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0.0;
  return fabs(x) < 1 ? 1 - fabs(x) : 0.0;
}

// The inputs that output j is made of: weight(k) of input index(k), for k < count.
class Taps {
 public:
  int count;
  UT_DEVICE Taps(const ResampledAxis& a, int64_t j) : a_(a) {
    if (a.antialias) {
      const double reach = a.filter == LinearFilter ? 1 : a.filter == CubicFilter ? 2 : 3,
                   support = a.step >= 1 ? reach * a.step : reach;
      inverse_ = a.step >= 1 ? 1 / a.step : 1;
      center_ = a.step * (static_cast<double>(j) + 0.5);
      first_ = greatest_of<int64_t>(static_cast<int64_t>(center_ - support + 0.5), 0);
      const int64_t last = least_of<int64_t>(static_cast<int64_t>(center_ + support + 0.5), a.in);
      count = static_cast<int>(greatest_of<int64_t>(last - first_, 0));
      total_ = 0;
      for (int k = 0; k < count; k++) total_ += unscaled(k);
      if (total_ == 0) total_ = 1;
      return;
    }
    const double at =
        a.align_corners ? a.step * static_cast<double>(j) : a.step * (static_cast<double>(j) + 0.5) - 0.5;
    if (a.filter == CubicFilter) {
      count = 4;
      first_ = least_of<int64_t>(static_cast<int64_t>(floor(at)), a.in - 1);
      inside_ = at - static_cast<double>(first_);
      first_--;
    } else {
      const double from = a.in == a.out ? static_cast<double>(j) : at > 0 ? at : 0.0;
      count = 2;
      first_ = least_of<int64_t>(static_cast<int64_t>(from), a.in - 1);
      inside_ = from - static_cast<double>(first_);
    }
    inside_ = inside_ < 0 ? 0 : inside_ > 1 ? 1 : inside_;
  }
  UT_DEVICE int64_t index(int k) const { return within(first_ + k, a_.in); }
  UT_DEVICE double weight(int k) const {
    if (a_.antialias) return unscaled(k) / total_;
    if (a_.filter == CubicFilter) return cubic(inside_ - static_cast<double>(k - 1), -0.75);
    return k == 0 ? 1 - inside_ : inside_;
  }

 private:
  UT_DEVICE double unscaled(int k) const {
    return antialias_weight(a_.filter, (static_cast<double>(k + first_) - center_ + 0.5) * inverse_);
  }
  const ResampledAxis& a_;
  int64_t first_;
  double inside_, center_, inverse_, total_;
};

// The outputs that may read input i: the first and the one after the last.
struct Readers {
  int64_t first, end;
};
UT_DEVICE Readers readers_of(const ResampledAxis& a, int64_t i) {
  double reach = a.filter == LinearFilter ? 1 : a.filter == CubicFilter ? 2 : 3;
  if (a.antialias && a.step >= 1) reach *= a.step;
  if (!(a.step > 0)) return {0, a.out};
  const double low = (static_cast<double>(i) - reach - 1) / a.step - 2,
               high = (static_cast<double>(i) + reach + 1) / a.step + 2;
  Readers r = {low > 0 ? static_cast<int64_t>(low) : 0, high < static_cast<double>(a.out) ? static_cast<int64_t>(high) + 1 : a.out};
  if (i == a.in - 1) r.end = a.out;  // positions beyond the end read the last element
  if (r.end > a.out) r.end = a.out;
  return r;
}

// uint8: rounds to the nearest byte.
template <class To, class M>
UT_DEVICE To finished(M x) {
  if constexpr (kSame<To, uint8_t>) {
    const M whole = floorf(static_cast<float>(x) + 0.5f);
    return static_cast<To>(whole < 0 ? M(0) : whole > 255 ? M(255) : whole);
  } else {
    return convert<To>(x);
  }
}

UT_DEVICE int64_t nearest(const ResampledAxis& a, int64_t j) {
  int64_t from;
  if (a.filter == NearestExactFilter)
    from = static_cast<int64_t>(floorf((static_cast<float>(j) + 0.5f) * a.nearest_step));
  else if (a.out == a.in)
    from = j;
  else if (a.out == 2 * a.in)
    from = j >> 1;
  else
    from = static_cast<int64_t>(floorf(static_cast<float>(j) * a.nearest_step));
  return within(from, a.in);
}
// The first output that reads input i or a later one.
UT_DEVICE int64_t first_reader(const ResampledAxis& a, int64_t i) {
  int64_t low = 0, high = a.out;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (nearest(a, middle) < i)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace undertow

// out[b][j][i] from in[b][.][i], for i < after.
template <class To, class From, class M>
__global__ void resample_axis(To* out, const From* in, int64_t n, int64_t after, ResampledAxis a) {
  for (int64_t o = thread_number(); o < n; o += thread_count()) {
    const Divided line = divided(o, after), block = divided(line.whole, a.out);
    const Taps taps(a, block.rest);
    const From* from = in + block.whole * a.in * after + line.rest;
    M sum = 0;
    for (int k = 0; k < taps.count; k++)
      sum += static_cast<M>(taps.weight(k)) * convert<M>(from[taps.index(k) * after]);
    out[o] = finished<To>(sum);
  }
}
template <class To, class From, class M>
__global__ void resample_axis_backward(To* to, const From* grad, int64_t n, int64_t after, ResampledAxis a) {
  for (int64_t o = thread_number(); o < n; o += thread_count()) {
    const Divided line = divided(o, after), block = divided(line.whole, a.in);
    const int64_t own = block.rest;
    const From* from = grad + block.whole * a.out * after + line.rest;
    const Readers r = readers_of(a, own);
    M sum = 0;
    for (int64_t j = r.first; j < r.end; j++) {
      const Taps taps(a, j);
      for (int k = 0; k < taps.count; k++)
        if (taps.index(k) == own) sum += static_cast<M>(taps.weight(k)) * convert<M>(from[j * after]);
    }
    to[o] = finished<To>(sum);
  }
}

template <class U>
__global__ void copy_nearest(U* out, const U* in, int64_t n, NearestPlanes p) {
  const ResampledAxis &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
  for (int64_t o = thread_number(); o < n; o += thread_count()) {
    const Divided plane = divided(o, p.out_plane), line = divided(plane.rest, ax.out), slab = divided(line.whole, ay.out);
    out[o] = in[plane.whole * p.in_plane + (nearest(az, slab.whole) * ay.in + nearest(ay, slab.rest)) * ax.in +
                nearest(ax, line.rest)];
  }
}
template <class T>
__global__ void add_nearest(T* to, const T* grad, int64_t n, NearestPlanes p) {
  using M = OpMath<T>;
  const ResampledAxis &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    const Divided plane = divided(i, p.in_plane), line = divided(plane.rest, ax.in), slab = divided(line.whole, ay.in);
    const int64_t x = line.rest, y = slab.rest, z = slab.whole;
    const T* from = grad + plane.whole * p.out_plane;
    M sum = 0;
    for (int64_t kz = first_reader(az, z); kz < az.out && nearest(az, kz) == z; kz++)
      for (int64_t ky = first_reader(ay, y); ky < ay.out && nearest(ay, ky) == y; ky++)
        for (int64_t kx = first_reader(ax, x); kx < ax.out && nearest(ax, kx) == x; kx++)
          sum += convert<M>(from[(kz * ay.out + ky) * ax.out + kx]);
    to[i] = convert<T>(sum);
  }
}
