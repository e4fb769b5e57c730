// max.cpp: forward functions of ops/pool.toml that choose the largest element of each window, and their transposes.
#include <algorithm>
#include <limits>

#include "core/base/parallel.h"
#include "core/forward/pool/window_table.h"
#include "core/kernels/cpu/isa.h"
#include "generated/fwd_pool.h"

namespace undertow {

namespace cpu {
namespace {
const PoolKernels<float>& kernels_of(float) { return UNDERTOW_CHOOSE_ISA(pool_float()); }
const PoolKernels<double>& kernels_of(double) { return UNDERTOW_CHOOSE_ISA(pool_double()); }
}  // namespace
}  // namespace cpu

namespace fwd {

namespace {

using Pair = std::tuple<Tensor, Tensor>;

// Windows of any shape, one by one: the first largest element, or the last NaN.
template <class T>
void largest_of(const Windows* axis, const T* plane, T* best, int64_t* index) {
  const Windows &az = axis[0], &ay = axis[1], &ax = axis[2];
  for (size_t z = 0; z < az.first.size(); z++)
    for (size_t y = 0; y < ay.first.size(); y++)
      for (size_t x = 0; x < ax.first.size(); x++) {
        int64_t found = (az.first[z] * ay.in + ay.first[y]) * ax.in + ax.first[x];
        T top = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::lowest();
        for (int64_t k = az.first[z]; k < az.last[z]; k += az.step)
          for (int64_t j = ay.first[y]; j < ay.last[y]; j += ay.step)
            for (int64_t i = ax.first[x]; i < ax.last[x]; i += ax.step) {
              int64_t at = (k * ay.in + j) * ax.in + i;
              T v = plane[at];
              if (v > top || v != v) {
                top = v;
                found = at;
              }
            }
        *best++ = top;
        *index++ = found;
      }
}

template <class T>
void largest_of_grid(const Pooling& p, const T* from, T* best, int64_t* index) {
  std::vector<int32_t> first;
  std::vector<cpu::PoolSpan> columns;
  for (int64_t f : p.axis[2].first) first.push_back(static_cast<int32_t>(f));
  for (int64_t k = 0; k < p.grid[2].kernel; k++) columns.push_back(cpu::windows_of_tap(p.grid[2], k));
  cpu::PoolGrid grid{{p.grid[0], p.grid[1], p.grid[2]}, first.data(), columns.data()};
  const auto& kernels = cpu::kernels_of(T());
  parallel_for(0, p.planes, plane_grain(p.in_plane), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> row(first.size());
    for (int64_t i = begin; i < end; i++)
      kernels.largest(grid, from + i * p.in_plane, best + i * p.out_plane, index + i * p.out_plane, row.data());
  });
}

// See Note [Tables Of Windows].
template <class T>
void largest_of_table(const Pooling& p, const WindowTable& t, const T* from, T* best, int64_t* index) {
  const auto& kernels = cpu::kernels_of(T());
  int64_t groups = (p.planes + t.planes - 1) / t.planes;
  parallel_for(0, groups, plane_grain(p.in_plane * t.planes), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> place(static_cast<size_t>(t.planes * p.out_plane));
    for (int64_t g = begin; g < end; g++) {
      int64_t first = g * t.planes, count = std::min(t.planes, p.planes - first), o = 0;
      kernels.largest_at(t.view(), count * p.out_plane, from + first * p.in_plane, best + first * p.out_plane,
                         place.data());
      for (int64_t plane = 0; plane < count; plane++)
        for (int64_t i = 0; i < p.out_plane; i++, o++)
          index[first * p.out_plane + o] = place[static_cast<size_t>(o)] - plane * p.in_plane;
    }
  });
}

// windows(plane, room) are a plane's own where they differ from plane to plane, made in `room`.
template <class T, class F>
void largest_of_each(const Pooling& p, const T* from, T* best, int64_t* index, F&& windows) {
  parallel_for(0, p.planes, plane_grain(p.in_plane), [&](int64_t begin, int64_t end) {
    Windows room[3];
    for (int64_t i = begin; i < end; i++)
      largest_of(windows(i, room), from + i * p.in_plane, best + i * p.out_plane, index + i * p.out_plane);
  });
}

Pair max_pooled(const Tensor& self, const Pooling& p, const char* name) {
  DType t = self.dtype(), wide = is_integral(t) ? DType::Int64 : wide_dtype(t);
  UT_CHECK_AS(NotImplemented, !is_complex(t) && t != DType::Bool, "\"", name, "\" not implemented for '", long_name(t),
              "'");
  Tensor in = contiguous(to_dtype(self, wide)), out = undertow::empty(p.sizes, wide),
         index = undertow::empty(p.sizes, DType::Int64);
  if (out.numel() != 0) {
    auto run = [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* from = in.data_as<T>();
      if constexpr (std::is_floating_point_v<T>) {
        WindowTable table = table_of(p);
        if (table.planes) return largest_of_table(p, table, from, out.data_as<T>(), index.data_as<int64_t>());
        if (p.regular && p.in_plane < std::numeric_limits<int32_t>::max())
          return largest_of_grid(p, from, out.data_as<T>(), index.data_as<int64_t>());
      }
      largest_of_each(p, from, out.data_as<T>(), index.data_as<int64_t>(), [&](int64_t, Windows*) { return p.axis; });
    };
    if (wide == DType::Float32)
      run(TypeTag<float>{});
    else if (wide == DType::Float64)
      run(TypeTag<double>{});
    else
      run(TypeTag<int64_t>{});
  }
  return {in_format_of(to_dtype(out, t), self), in_format_of(index, self)};
}

void check_floating(const Tensor& self, const char* name) {
  UT_CHECK_AS(NotImplemented, is_floating(self.dtype()), "\"", name, "\" not implemented for '",
              long_name(self.dtype()), "'");
}
void check_channels(const Tensor& self, int64_t spatial, const char* name) {
  int64_t d = self.dim() - spatial - 1;
  UT_CHECK(d < 0 || self.size(d) > 0, name,
           "(): Expected input to have non-zero size for non-batch dimensions, but input has sizes ",
           ShapeText{self.sizes()}, " with dimension ", d, " being empty");
}

// Where fractional windows begin: about `stride` apart, where the stride is what is left over for each, moved by u.
template <class T>
void fractional_starts(Windows& w, T u, int64_t kernel, int64_t in, int64_t out) {
  w.in = in;
  w.first.resize(static_cast<size_t>(out));
  w.last.resize(static_cast<size_t>(out));
  T stride = out > 1 ? static_cast<T>(in - kernel) / static_cast<T>(out - 1) : T(0);
  for (int64_t o = 0; o < out; o++) {
    int64_t start = o == out - 1
                        ? in - kernel
                        : static_cast<int64_t>((static_cast<T>(o) + u) * stride) - static_cast<int64_t>(u * stride);
    w.first[static_cast<size_t>(o)] = start;
    w.last[static_cast<size_t>(o)] = start + kernel;
  }
}

Pair fractional(const Tensor& self, IntSpan kernel, IntSpan output, const Tensor& samples, int64_t spatial,
                const char* name) {
  UT_CHECK(static_cast<int64_t>(kernel.size()) == spatial && static_cast<int64_t>(output.size()) == spatial, name,
           ": kernel_size and output_size must be ", spatial, " ints");
  UT_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, name, "(): Expected ", spatial + 1, "D or ",
           spatial + 2, "D tensor, but got: ", ShapeText{self.sizes()});
  check_channels(self, spatial, name);
  check_floating(self, name);
  UT_CHECK(samples.dtype() == self.dtype(), name, ": Expect _random_samples to have the same dtype as input; got ",
           long_name(samples.dtype()), " and ", long_name(self.dtype()));
  Pooling p;
  for (int64_t d = 0; d < spatial; d++) {
    int64_t in = self.size(self.dim() - spatial + d), k = kernel[static_cast<size_t>(d)],
            o = output[static_cast<size_t>(d)];
    UT_CHECK(k > 0 && o > 0 && o + k - 1 <= in, name, "(): pool ",
             spatial - d == 1   ? "width "
             : spatial - d == 2 ? "height "
                                : "time ",
             k, " too large relative to input ",
             spatial - d == 1   ? "width "
             : spatial - d == 2 ? "height "
                                : "time ",
             in);
    fractional_starts<double>(p.axis[3 - spatial + d], 0, k, in, o);
  }
  p.finish(self.sizes(), spatial);
  UT_CHECK(samples.numel() == p.planes * spatial, name, ": Expect _random_samples of ", p.planes, " planes by ",
           spatial, " numbers; got shape ", ShapeText{samples.sizes()});
  DType wide = wide_dtype(self.dtype());
  Tensor in = contiguous(to_dtype(self, wide)), u = contiguous(to_dtype(samples, wide));
  Tensor out = undertow::empty(p.sizes, wide), index = undertow::empty(p.sizes, DType::Int64);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    largest_of_each(p, in.data_as<T>(), out.data_as<T>(), index.data_as<int64_t>(), [&](int64_t plane, Windows* own) {
      for (int64_t d = 0; d < 3; d++) {
        int64_t k = d - (3 - spatial);
        if (k < 0) continue;
        // The numbers of a plane stand for x and y in two dimensions, and for z, y and x in three.
        T sample = u.data_as<T>()[plane * spatial + (spatial == 2 ? 1 - k : k)];
        fractional_starts<T>(own[d], sample, kernel[static_cast<size_t>(k)], p.axis[d].in, p.axis[d].out());
      }
      return static_cast<const Windows*>(own);
    });
  };
  if (wide == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return {to_dtype(out, self.dtype()), index};
}

struct Planes {
  int64_t count, pooled, full;
};
Planes planes_of(IntSpan pooled, IntSpan full, int64_t spatial) {
  UT_CHECK(pooled.size() == full.size() && static_cast<int64_t>(full.size()) >= spatial, "pooling: shapes ",
           ShapeText{pooled}, " and ", ShapeText{full}, " do not belong together");
  size_t lead = full.size() - static_cast<size_t>(spatial);
  UT_CHECK(same(pooled.subspan(0, lead), full.subspan(0, lead)), "pooling: shapes ", ShapeText{pooled}, " and ",
           ShapeText{full}, " do not have the same planes");
  return {product(full.subspan(0, lead)), product(pooled.subspan(lead)), product(full.subspan(lead))};
}

// For every plane, prepare(first element of the plane), then f(pooled element, its place) for every index; places
// outside are refused in torch's words.
template <class P, class F>
void at_places(const Planes& g, const Tensor& indices, IntSpan space, P&& prepare, F&& f) {
  Tensor places = contiguous(indices);
  parallel_for(0, g.count, plane_grain(g.full + g.pooled), [&](int64_t begin, int64_t end) {
    const int64_t* at = places.data_as<int64_t>() + begin * g.pooled;
    for (int64_t plane = begin, i = begin * g.pooled; plane < end; plane++) {
      const int64_t base = plane * g.full, stop = i + g.pooled;
      prepare(base);
      for (; i < stop; i++, at++) {
        if (UT_UNLIKELY(static_cast<uint64_t>(*at) >= static_cast<uint64_t>(g.full)))
          UT_FAIL("Found an invalid max index: ", *at, " (output volumes are of size ", ShapeText{space}, ")");
        f(i, base + *at);
      }
    }
  });
}
constexpr auto kNothing = [](int64_t) {};

IntSpan tail(IntSpan sizes, int64_t spatial) { return sizes.subspan(sizes.size() - static_cast<size_t>(spatial)); }

Tensor unpooled(const Tensor& self, const Tensor& indices, IntSpan output_size, int64_t spatial) {
  UT_CHECK(indices.dtype() == DType::Int64,
           "elements in indices should be type int64 but got: ", long_name(indices.dtype()));
  UT_CHECK(static_cast<int64_t>(output_size.size()) == spatial, "There should be exactly ", spatial,
           " elements in output_size, but got ", output_size.size(), " elements.");
  UT_CHECK(self.dim() == spatial + 1 || self.dim() == spatial + 2, "Input to max_unpooling", spatial, "d should be a ",
           spatial + 1, "d or ", spatial + 2, "d Tensor, but got a tensor with ", self.dim(), " dimensions.");
  UT_CHECK(same(self.sizes(), indices.sizes()), "Expected shape of indices to be same as that of the input tensor (",
           ShapeText{self.sizes()}, ") but got indices tensor with shape: ", ShapeText{indices.sizes()});
  Dims sizes(self.sizes());
  for (int64_t d = 0; d < spatial; d++)
    sizes[static_cast<size_t>(self.dim() - spatial + d)] = output_size[static_cast<size_t>(d)];
  for (int64_t d = 1; d < self.dim(); d++)
    UT_CHECK(self.size(d) > 0, "max_unpooling", spatial,
             "d(): Expected input to have non-zero size for non-batch dimensions, but got ", ShapeText{self.sizes()},
             " with dimension ", d, " being empty.");
  Planes g = planes_of(self.sizes(), sizes, spatial);
  Tensor in = contiguous(self), out = zeros(sizes, self.dtype());
  dispatch_width(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    at_places(g, indices, output_size, kNothing,
              [&](int64_t i, int64_t place) { out.data_as<T>()[place] = in.data_as<T>()[i]; });
  });
  return out;
}

}  // namespace

Pair max_pool2d_with_indices(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, IntSpan dilation,
                             bool ceil_mode) {
  return max_pooled(self, kernel_windows(self, 2, kernel_size, stride, padding, dilation, ceil_mode, "max_pool2d"),
                    "max_pool2d");
}
Pair max_pool3d_with_indices(const Tensor& self, IntSpan kernel_size, IntSpan stride, IntSpan padding, IntSpan dilation,
                             bool ceil_mode) {
  return max_pooled(self, kernel_windows(self, 3, kernel_size, stride, padding, dilation, ceil_mode, "max_pool3d"),
                    "max_pool3d");
}
Pair adaptive_max_pool2d(const Tensor& self, IntSpan output_size) {
  Pooling p = adaptive_windows(self.sizes(), 2, output_size, "adaptive_max_pool2d");
  check_channels(self, 2, "adaptive_max_pool2d");
  check_floating(self, "adaptive_max_pool2d");
  return max_pooled(self, p, "adaptive_max_pool2d");
}
Pair adaptive_max_pool3d(const Tensor& self, IntSpan output_size) {
  Pooling p = adaptive_windows(self.sizes(), 3, output_size, "adaptive_max_pool3d");
  check_channels(self, 3, "adaptive_max_pool3d");
  check_floating(self, "adaptive_max_pool3d_cpu");
  return max_pooled(self, p, "adaptive_max_pool3d");
}
Pair fractional_max_pool2d(const Tensor& self, IntSpan kernel_size, IntSpan output_size, const Tensor& random_samples) {
  return fractional(self, kernel_size, output_size, random_samples, 2, "fractional_max_pool2d");
}
Pair fractional_max_pool3d(const Tensor& self, IntSpan kernel_size, IntSpan output_size, const Tensor& random_samples) {
  return fractional(self, kernel_size, output_size, random_samples, 3, "fractional_max_pool3d");
}
Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntSpan output_size) {
  return unpooled(self, indices, output_size, 2);
}
Tensor max_unpool3d(const Tensor& self, const Tensor& indices, IntSpan output_size) {
  return unpooled(self, indices, output_size, 3);
}

Tensor _max_pool_gather(const Tensor& self, const Tensor& indices, int64_t spatial) {
  Planes g = planes_of(indices.sizes(), self.sizes(), spatial);
  Tensor in = contiguous(self), out = undertow::empty(indices.sizes(), self.dtype());
  dispatch_width(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    at_places(g, indices, tail(self.sizes(), spatial), kNothing,
              [&](int64_t i, int64_t place) { out.data_as<T>()[i] = in.data_as<T>()[place]; });
  });
  return out;
}

Tensor _max_pool_scatter(const Tensor& grad_output, const Tensor& indices, IntSpan sizes, int64_t spatial) {
  Planes g = planes_of(indices.sizes(), sizes, spatial);
  UT_CHECK(same(grad_output.sizes(), indices.sizes()), "pooling: gradient of shape ", ShapeText{grad_output.sizes()},
           " for indices of shape ", ShapeText{indices.sizes()});
  check_floating(grad_output, "max_pool_backward");
  DType wide = wide_dtype(grad_output.dtype());
  Tensor grad = contiguous(to_dtype(grad_output, wide)), out = undertow::empty(sizes, wide);
  auto run = [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.data_as<T>();
    const T* from = grad.data_as<T>();
    auto clear = [&](int64_t base) { std::fill_n(to + base, g.full, T(0)); };  // while the plane is near
    at_places(g, indices, tail(sizes, spatial), clear, [&](int64_t i, int64_t place) { to[place] += from[i]; });
  };
  if (wide == DType::Float32)
    run(TypeTag<float>{});
  else
    run(TypeTag<double>{});
  return to_dtype(out, grad_output.dtype());
}

}  // namespace fwd
}  // namespace undertow
