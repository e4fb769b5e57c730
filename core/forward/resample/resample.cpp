// resample.cpp: interpolation, one axis after the other inside each plane. See ops/resample.toml.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/parallel.h"
#include "core/forward/planes.h"
#include "core/forward/resample/taps.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/resample/resample_kernels.h"
#include "core/kernels/cpu/scratch.h"
#include "core/tensor/layout.h"
#include "generated/fwd_resample.h"

namespace undertow {

namespace cpu {
namespace {
const ResampleKernels<float>& kernels_of(float) { return UNDERTOW_CHOOSE_ISA(resample_float()); }
const ResampleKernels<double>& kernels_of(double) { return UNDERTOW_CHOOSE_ISA(resample_double()); }
}  // namespace
}  // namespace cpu

namespace fwd {

namespace {

struct Geometry {
  Taps axis[3];  // outermost first; missing ones leave things as they are
  int64_t planes = 1, in_plane = 1, out_plane = 1;
};

Geometry geometry_of(IntSpan in, IntSpan out, const ResampleKind& kind, bool align_corners,
                     const std::optional<double>* scales) {
  Geometry g;
  size_t lead = in.size() - static_cast<size_t>(kind.spatial);
  for (int64_t d = 0; d < kind.spatial; d++) {
    int64_t k = 3 - kind.spatial + d, from = in[lead + static_cast<size_t>(d)], to = out[static_cast<size_t>(d)];
    g.axis[k] = resample_taps(kind, from, to, align_corners, scales[k]);
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
  const auto& kernels = cpu::kernels_of(T());
  for (int64_t b = 0; b < before; b++, in += a.in * after, out += a.out * after) {
    if (after == 1) {
      kernels.across(in, a.index.data(), weight, a.taps, a.out, out);
      continue;
    }
    for (int64_t j = 0; j < a.out; j++) {
      if (a.taps == 1)
        std::memcpy(out + j * after, in + a.index[static_cast<size_t>(j)] * after,
                    static_cast<size_t>(after) * sizeof(T));
      else
        kernels.down(in, a.index.data() + j, weight + j, a.out, a.taps, after, out + j * after);
    }
  }
}

template <class T>
void apply_transposed(const Taps& a, const T* weight, const T* in, int64_t before, int64_t after, T* out) {
  std::fill_n(out, before * a.in * after, T(0));
  const auto& kernels = cpu::kernels_of(T());
  for (int64_t b = 0; b < before; b++, in += a.out * after, out += a.in * after)
    for (int64_t j = 0; j < a.out; j++) {
      if (after != 1) {
        kernels.spread(in + j * after, a.index.data() + j, weight + j, a.out, a.taps, after, out);
        continue;
      }
      for (int64_t k = 0; k < a.taps; k++)
        out[a.index[static_cast<size_t>(k * a.out + j)]] += weight[k * a.out + j] * in[j];
    }
}

struct Buffers;

// A plane through its axes, with the steps between in the thread's scratch memory. The last axis is the slow one, so an
// image that grows goes through it first and one that shrinks goes through it last; transposed, the other way round.
template <class T, bool Transposed>
void resample_plane(const Geometry& g, const Weights<T>& w, const T* in, T* out) {
  const bool outermost_first = Transposed != (g.out_plane < g.in_plane);
  int64_t sizes[3];
  for (int d = 0; d < 3; d++) sizes[d] = Transposed ? g.axis[d].out : g.axis[d].in;
  int left = 0;
  int64_t most = 1;
  for (const Taps& a : g.axis) {
    left += !a.identity;  // at least one: taps of an axis that is resampled are never the identity
    most *= std::max(a.in, a.out);
  }
  T* scratch = cpu::Scratch<Buffers>::get<T>(2 * most);
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

// Nearest neighbours of an image that shrinks, transposed: an element goes to one place.
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

template <bool Transposed>
Tensor resample(const Tensor& input, const Geometry& g, const Dims& sizes) {
  DType t = input.dtype(), wide = t == DType::UInt8 ? DType::Float32 : wide_dtype(t);
  Tensor in = contiguous(to_dtype(input, wide)), out = undertow::empty(sizes, wide);
  int64_t from = Transposed ? g.out_plane : g.in_plane, to = Transposed ? g.in_plane : g.out_plane;
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
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
    if (t == DType::UInt8)  // to the nearest byte
      for (int64_t i = 0; i < out.numel(); i++)
        out.data_as<T>()[i] = std::clamp(std::floor(out.data_as<T>()[i] + T(0.5)), T(0), T(255));
  };
  if (out.numel() != 0) {
    if (wide == DType::Float32)
      run(TypeTag<float>{});
    else
      run(TypeTag<double>{});
  }
  return to_dtype(out, t);
}

// Nearest neighbours are copies, of any dtype; rows that repeat are copied from the one before.
Tensor nearest(const Tensor& self, const Geometry& g, const Dims& sizes) {
  Tensor in = contiguous(self), out = undertow::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  const Taps &az = g.axis[0], &ay = g.axis[1], &ax = g.axis[2];
  bool doubled = ax.out == 2 * ax.in;
  for (int64_t x = 0; doubled && x < ax.out; x++) doubled = ax.index[static_cast<size_t>(x)] == x / 2;
  dispatch_width(self.dtype(), [&](auto tag) {
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
  return out;
}

struct SizeText {
  IntSpan sizes;
};
std::ostream& operator<<(std::ostream& out, const SizeText& s) {
  const char* names = "DHW";
  for (size_t i = 0; i < s.sizes.size(); i++)
    out << (i ? ", " : "(") << names[3 - s.sizes.size() + i] << ": " << s.sizes[i];
  return out << ")";
}

}  // namespace

Tensor _resample(const Tensor& self, IntSpan output_size, std::string_view kind, bool align_corners,
                 std::optional<double> scales_d, std::optional<double> scales_h, std::optional<double> scales_w) {
  ResampleKind k = resample_kind(kind);
  UT_CHECK(self.dim() == k.spatial + 2 && static_cast<int64_t>(output_size.size()) == k.spatial,
           "It is expected input_size equals to ", k.spatial + 2, ", but got size ", self.dim());
  IntSpan space = self.sizes().subspan(2);
  bool positive = true;
  for (int64_t d = 0; d < k.spatial; d++)
    positive &= space[static_cast<size_t>(d)] > 0 && output_size[static_cast<size_t>(d)] > 0;
  UT_CHECK(positive, "Input and output sizes should be greater than 0, but got input ", SizeText{space}, " output ",
           SizeText{output_size});
  UT_CHECK(self.size(1) > 0, "Non-empty ", self.dim(), "D data tensor expected but got a tensor with sizes ",
           ShapeText{self.sizes()});
  UT_CHECK_AS(NotImplemented,
              self.is_floating() || (self.dtype() == DType::UInt8 && k.spatial == 2) ||
                  (self.dtype() == DType::UInt8 && k.filter <= ResampleKind::NearestExact),
              "\"upsample_", kind, "\" not implemented for '", long_name(self.dtype()), "'");
  std::optional<double> scales[3] = {scales_d, scales_h, scales_w};
  Geometry g = geometry_of(self.sizes(), output_size, k, align_corners, scales);
  Dims sizes(self.sizes());
  for (int64_t d = 0; d < k.spatial; d++) sizes[static_cast<size_t>(2 + d)] = output_size[static_cast<size_t>(d)];
  bool copies = k.filter == ResampleKind::Nearest || k.filter == ResampleKind::NearestExact;
  return in_format_of(copies ? nearest(self, g, sizes) : resample<false>(self, g, sizes), self);
}

Tensor _resample_backward(const Tensor& grad_output, IntSpan sizes, std::string_view kind, bool align_corners,
                          std::optional<double> scales_d, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  ResampleKind k = resample_kind(kind);
  UT_CHECK(grad_output.dim() == k.spatial + 2 && static_cast<int64_t>(sizes.size()) == k.spatial + 2,
           "interpolate: gradient of shape ", ShapeText{grad_output.sizes()}, " for an image of shape ",
           ShapeText{sizes});
  UT_CHECK_AS(NotImplemented, grad_output.is_floating(), "\"upsample_backward\" not implemented for '",
              long_name(grad_output.dtype()), "'");
  std::optional<double> scales[3] = {scales_d, scales_h, scales_w};
  Geometry g = geometry_of(sizes, grad_output.sizes().subspan(2), k, align_corners, scales);
  return resample<true>(grad_output, g, Dims(sizes));
}

}  // namespace fwd
}  // namespace undertow
