// resample.cpp: the CPU's ResampleKernels: interpolation, one axis after the other inside each plane.
#include "core/kernels/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/planes.h"
#include "core/kernels/cpu/resample/resample_loops.h"
#include "core/kernels/cpu/resample/taps.h"
#include "core/kernels/cpu/scratch.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

const ResampleLoops<float>& loops_of(float) { return UNDERTOW_CHOOSE_ISA(resample_float()); }
const ResampleLoops<double>& loops_of(double) { return UNDERTOW_CHOOSE_ISA(resample_double()); }

struct Geometry {
  Taps axis[3];  // outermost first; missing axes are the identity
  int64_t planes = 1, in_plane = 1, out_plane = 1;
};

Geometry geometry_of(const Tensor& full, const Tensor& resampled, const Resampling& how) {
  Geometry g;
  IntSpan in = full.sizes(), out = resampled.sizes();
  size_t lead = in.size() - static_cast<size_t>(how.spatial);
  for (int64_t d = 0; d < how.spatial; d++) {
    int64_t k = 3 - how.spatial + d, from = in[lead + static_cast<size_t>(d)], to = out[lead + static_cast<size_t>(d)];
    g.axis[k] = resample_taps(how, from, to, how.scales[k]);
    g.in_plane *= from;
    g.out_plane *= to;
  }
  g.planes = product(in.subspan(0, lead));
  return g;
}

template <class T>
struct Weights {
  std::vector<T> axis[3];
  explicit Weights(const Geometry& g) {
    for (int d = 0; d < 3; d++)
      for (double w : g.axis[d].weight) axis[d].push_back(static_cast<T>(w));
  }
};

// One axis: `before` slabs of [n][after] elements each; n changes from axis.in to axis.out.
template <class T>
void apply(const Taps& a, const T* weight, const T* in, int64_t before, int64_t after, T* out) {
  const auto& loops = loops_of(T());
  for (int64_t b = 0; b < before; b++, in += a.in * after, out += a.out * after) {
    if (after == 1) {
      loops.across(in, a.index.data(), weight, a.taps, a.out, out);
      continue;
    }
    for (int64_t j = 0; j < a.out; j++) {
      if (a.taps == 1)
        std::memcpy(out + j * after, in + a.index[static_cast<size_t>(j)] * after,
                    static_cast<size_t>(after) * sizeof(T));
      else
        loops.down(in, a.index.data() + j, weight + j, a.out, a.taps, after, out + j * after);
    }
  }
}

template <class T>
void apply_transposed(const Taps& a, const T* weight, const T* in, int64_t before, int64_t after, T* out) {
  std::fill_n(out, before * a.in * after, T(0));
  const auto& loops = loops_of(T());
  for (int64_t b = 0; b < before; b++, in += a.out * after, out += a.in * after)
    for (int64_t j = 0; j < a.out; j++) {
      if (after != 1) {
        loops.spread(in + j * after, a.index.data() + j, weight + j, a.out, a.taps, after, out);
        continue;
      }
      for (int64_t k = 0; k < a.taps; k++)
        out[a.index[static_cast<size_t>(k * a.out + j)]] += weight[k * a.out + j] * in[j];
    }
}

struct Buffers;

// Resamples a plane axis by axis, with intermediate results in the thread's scratch memory. The last axis is the slow
// one, so an image that grows is resampled along it first, and one that shrinks, last; the reverse if transposed.
template <class T, bool Transposed>
void resample_plane(const Geometry& g, const Weights<T>& w, const T* in, T* out) {
  const bool outermost_first = Transposed != (g.out_plane < g.in_plane);
  int64_t sizes[3];
  for (int d = 0; d < 3; d++) sizes[d] = Transposed ? g.axis[d].out : g.axis[d].in;
  int left = 0;
  int64_t most = 1;
  for (const Taps& a : g.axis) {
    left += !a.identity;  // at least one axis: the taps of a resampled axis are never the identity
    most *= std::max(a.in, a.out);
  }
  T* scratch = Scratch<Buffers>::get<T>(2 * most);
  for (int step = 0, turn = 0; step < 3; step++) {
    int d = outermost_first ? step : 2 - step;
    const Taps& a = g.axis[d];
    if (a.identity) continue;
    int64_t before = 1, after = 1;
    for (int e = 0; e < d; e++) before *= sizes[e];
    for (int e = d + 1; e < 3; e++) after *= sizes[e];
    T* to = --left == 0 ? out : scratch + (turn++ % 2) * most;
    if (Transposed)
      apply_transposed(a, w.axis[d].data(), in, before, after, to);
    else
      apply(a, w.axis[d].data(), in, before, after, to);
    sizes[d] = Transposed ? a.in : a.out;
    in = to;
  }
}

// The transpose of nearest-neighbour interpolation for an image that shrinks: each element goes to one position.
template <class T>
void spread_nearest(const Geometry& g, const T* in, T* out) {
  const Taps &az = g.axis[0], &ay = g.axis[1], &ax = g.axis[2];
  std::fill_n(out, g.in_plane, T(0));
  for (int64_t z = 0; z < az.out; z++)
    for (int64_t y = 0; y < ay.out; y++, in += ax.out) {
      T* row =
          out +
          (static_cast<int64_t>(az.index[static_cast<size_t>(z)]) * ay.in + ay.index[static_cast<size_t>(y)]) * ax.in;
      for (int64_t x = 0; x < ax.out; x++) row[ax.index[static_cast<size_t>(x)]] += in[x];
    }
}

template <class T, bool Transposed>
void resample_planes(const Tensor& out, const Tensor& in, const Geometry& g) {
  int64_t from = Transposed ? g.out_plane : g.in_plane, to = Transposed ? g.in_plane : g.out_plane;
  Weights<T> w(g);
  bool copies = true;
  for (const Taps& a : g.axis)
    copies &= a.taps == 1 && std::all_of(a.weight.begin(), a.weight.end(), [](double v) { return v == 1; });
  if (Transposed && copies && g.out_plane < g.in_plane) {
    parallel_for(0, g.planes, plane_grain(g.in_plane), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) spread_nearest(g, in.data_as<T>() + i * from, out.data_as<T>() + i * to);
    });
    return;
  }
  parallel_for(0, g.planes, plane_grain(g.in_plane + g.out_plane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      resample_plane<T, Transposed>(g, w, in.data_as<T>() + i * from, out.data_as<T>() + i * to);
  });
}

template <bool Transposed>
void resample_as(const Tensor& out, const Tensor& input, const Geometry& g) {
  DType t = input.dtype(), wide = t == DType::UInt8 ? DType::Float32 : wide_dtype(t);
  Tensor in = contiguous_as(input, wide), to = t == wide ? out : empty(out.sizes(), wide, kCpu);
  if (wide == DType::Float32)
    resample_planes<float, Transposed>(to, in, g);
  else
    resample_planes<double, Transposed>(to, in, g);
  if (t == DType::UInt8)  // rounds to the nearest byte
    for (int64_t i = 0; i < to.numel(); i++)
      to.data_as<float>()[i] = std::clamp(std::floor(to.data_as<float>()[i] + 0.5f), 0.0f, 255.0f);
  if (t != wide) copy(out, to);
}

// Nearest-neighbour interpolation copies elements of any dtype; repeated rows are copied from the previous one.
void copy_nearest(const Tensor& out, const Tensor& in, const Geometry& g) {
  const Taps &az = g.axis[0], &ay = g.axis[1], &ax = g.axis[2];
  bool doubled = ax.out == 2 * ax.in;
  for (int64_t x = 0; doubled && x < ax.out; x++) doubled = ax.index[static_cast<size_t>(x)] == x / 2;
  dispatch_width(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for(0, g.planes, plane_grain(g.out_plane), [&](int64_t begin, int64_t end) {
      T* to = out.data_as<T>() + begin * g.out_plane;
      for (int64_t i = begin; i < end; i++) {
        const T* plane = in.data_as<T>() + i * g.in_plane;
        for (int64_t z = 0; z < az.out; z++)
          for (int64_t y = 0; y < ay.out; y++, to += ax.out) {
            const size_t row = static_cast<size_t>(y);
            if (y > 0 && ay.index[row] == ay.index[row - 1]) {
              std::memcpy(to, to - ax.out, static_cast<size_t>(ax.out) * sizeof(T));
              continue;
            }
            const T* from =
                plane + (static_cast<int64_t>(az.index[static_cast<size_t>(z)]) * ay.in + ay.index[row]) * ax.in;
            if (doubled) {
              for (int64_t x = 0; x < ax.in; x++) to[2 * x] = to[2 * x + 1] = from[x];
            } else {
              for (int64_t x = 0; x < ax.out; x++) to[x] = from[ax.index[static_cast<size_t>(x)]];
            }
          }
      }
    });
  });
}

void resample(const Tensor& out, const Tensor& in, const Resampling& how) {
  Geometry g = geometry_of(in, out, how);
  if (out.numel() == 0) return;
  if (how.filter == Resampling::Nearest || how.filter == Resampling::NearestExact) return copy_nearest(out, in, g);
  resample_as<false>(out, in, g);
}

void backward(const Tensor& grad_input, const Tensor& grad_output, const Resampling& how) {
  Geometry g = geometry_of(grad_input, grad_output, how);
  if (grad_input.numel()) resample_as<true>(grad_input, grad_output, g);
}

}  // namespace

constinit const ResampleKernels resample_kernels = {.resample = resample, .backward = backward};

}  // namespace undertow::core::cpu
