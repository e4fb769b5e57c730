// max.cpp: the CPU's PoolKernels: maxima of windows, reads and writes at their indices, and the table.
#include <algorithm>
#include <limits>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/planes.h"
#include "core/kernels/cpu/pool/pool.h"
#include "core/kernels/cpu/pool/window_table.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

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

// windows_of_tap for each tap along the last axis.
std::vector<PoolSpan> columns_of(const WindowGrid& g) {
  std::vector<PoolSpan> columns;
  columns.reserve(static_cast<size_t>(g.kernel));
  for (int64_t k = 0; k < g.kernel; k++) columns.push_back(windows_of_tap(axis_of(g), k));
  return columns;
}

template <class T>
void largest_of_grid(const Pooling& p, const T* from, T* best, int64_t* index) {
  std::vector<int32_t> first;
  first.reserve(p.axis[2].first.size());
  for (int64_t f : p.axis[2].first) first.push_back(static_cast<int32_t>(f));
  const std::vector<PoolSpan> columns = columns_of(p.grid[2]);
  PoolGrid grid{{axis_of(p.grid[0]), axis_of(p.grid[1]), axis_of(p.grid[2])}, first.data(), columns.data()};
  const auto& loops = pool_loops(T());
  parallel_for(0, p.planes, plane_grain(p.in_plane), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> row(first.size());
    for (int64_t i = begin; i < end; i++)
      loops.largest(grid, from + i * p.in_plane, best + i * p.out_plane, index + i * p.out_plane, row.data());
  });
}

// The maxima alone: no index is computed or written.
void maxima_of_grid(const Pooling& p, const float* from, float* best) {
  const auto& loops = pool_loops(0.0f);
  const WindowGrid &gz = p.grid[0], &gy = p.grid[1], &gx = p.grid[2];
  const std::vector<PoolSpan> columns = columns_of(gx);
  parallel_for(0, p.planes, plane_grain(p.in_plane), [&](int64_t begin, int64_t end) {
    float* row = best + begin * p.out_plane;
    for (int64_t i = begin; i < end; i++)
      for (int64_t z = 0; z < gz.out; z++)
        for (int64_t y = 0; y < gy.out; y++, row += gx.out) {
          std::fill_n(row, gx.out, -std::numeric_limits<float>::infinity());
          for (int64_t k = p.axis[0].first[z]; k < p.axis[0].last[z]; k += gz.dilation)
            for (int64_t j = p.axis[1].first[y]; j < p.axis[1].last[y]; j += gy.dilation)
              for (int64_t t = 0; t < gx.kernel; t++) {
                PoolSpan w = columns[static_cast<size_t>(t)];
                if (w.end <= w.begin) continue;
                const float* line = from + i * p.in_plane + (k * gy.in + j) * gx.in;
                loops.larger(line + w.begin * gx.stride - gx.padding + t * gx.dilation, gx.stride, row + w.begin,
                             w.end - w.begin);
              }
        }
  });
}

// See Note [Tables Of Windows].
template <class T>
void largest_of_table(const Pooling& p, const WindowTable& t, const T* from, T* best, int64_t* index) {
  const auto& loops = pool_loops(T());
  int64_t groups = (p.planes + t.planes - 1) / t.planes;
  parallel_for(0, groups, plane_grain(p.in_plane * t.planes), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> place(static_cast<size_t>(t.planes * p.out_plane));
    for (int64_t g = begin; g < end; g++) {
      int64_t first = g * t.planes, count = std::min(t.planes, p.planes - first), o = 0;
      loops.largest_at(t.view(), count * p.out_plane, from + first * p.in_plane, best + first * p.out_plane,
                       place.data());
      for (int64_t plane = 0; plane < count; plane++)
        for (int64_t i = 0; i < p.out_plane; i++, o++)
          index[first * p.out_plane + o] = place[static_cast<size_t>(o)] - plane * p.in_plane;
    }
  });
}

// For windows that differ between planes: windows(plane, room) returns those of a plane, stored in `room`.
template <class T, class F>
void largest_of_each(const Pooling& p, const T* from, T* best, int64_t* index, F&& windows) {
  parallel_for(0, p.planes, plane_grain(p.in_plane), [&](int64_t begin, int64_t end) {
    Windows room[3];
    for (int64_t i = begin; i < end; i++)
      largest_of(windows(i, room), from + i * p.in_plane, best + i * p.out_plane, index + i * p.out_plane);
  });
}

template <class T>
void largest_of_planes(const Tensor& out, const Tensor& index, const Tensor& in, const Pooling& p) {
  const T* from = in.data_as<T>();
  if constexpr (std::is_floating_point_v<T>) {
    WindowTable table = table_of(p);
    if (table.planes) return largest_of_table(p, table, from, out.data_as<T>(), index.data_as<int64_t>());
    if (p.regular && p.in_plane < std::numeric_limits<int32_t>::max())
      return largest_of_grid(p, from, out.data_as<T>(), index.data_as<int64_t>());
  }
  largest_of_each(p, from, out.data_as<T>(), index.data_as<int64_t>(), [&](int64_t, Windows*) { return p.axis; });
}

void largest(const Tensor& out, const Tensor& index, const Tensor& in, const Pooling& p) {
  if (out.numel() == 0) return;
  DType wide = is_integral(in.dtype()) ? DType::Int64 : wide_dtype(in.dtype());
  in_wide(out, wide, [&](const Tensor& to) {
    Tensor from = contiguous_as(in, wide);
    if (!index.defined()) {
      if (wide == DType::Float32 && p.regular && p.in_plane < std::numeric_limits<int32_t>::max())
        return maxima_of_grid(p, from.data_as<float>(), to.data_as<float>());
      return largest(to, empty(out.sizes(), DType::Int64, kCpu), from, p);
    }
    if (wide == DType::Float32)
      largest_of_planes<float>(to, index, from, p);
    else if (wide == DType::Float64)
      largest_of_planes<double>(to, index, from, p);
    else
      largest_of_planes<int64_t>(to, index, from, p);
  });
}

template <class T>
void fractional_of_planes(const Tensor& out, const Tensor& index, const Tensor& in, const Tensor& samples,
                          const Pooling& p, IntSpan kernel) {
  int64_t spatial = static_cast<int64_t>(kernel.size());
  largest_of_each(p, in.data_as<T>(), out.data_as<T>(), index.data_as<int64_t>(), [&](int64_t plane, Windows* own) {
    for (int64_t d = 0; d < 3; d++) {
      int64_t k = d - (3 - spatial);
      if (k < 0) continue;
      // A plane's samples are in the order x, y in two dimensions, and z, y, x in three.
      T sample = samples.data_as<T>()[plane * spatial + (spatial == 2 ? 1 - k : k)];
      fractional_starts<T>(own[d], sample, kernel[static_cast<size_t>(k)], p.axis[d].in, p.axis[d].out());
    }
    return static_cast<const Windows*>(own);
  });
}

void fractional_largest(const Tensor& out, const Tensor& index, const Tensor& in, const Tensor& samples,
                        const Pooling& p, IntSpan kernel) {
  DType wide = wide_dtype(in.dtype());
  in_wide(out, wide, [&](const Tensor& to) {
    Tensor from = contiguous_as(in, wide), u = contiguous_as(samples, wide);
    if (wide == DType::Float32)
      fractional_of_planes<float>(to, index, from, u, p, kernel);
    else
      fractional_of_planes<double>(to, index, from, u, p, kernel);
  });
}

// For every plane, calls prepare(first element of the plane), then f(pooled element, its index) for every index; raises
// torch's error for indices out of range.
template <class P, class F>
void for_each_index(const IndexGrid& g, const Tensor& index, P&& prepare, F&& f) {
  parallel_for(0, g.planes, plane_grain(g.full + g.pooled), [&](int64_t begin, int64_t end) {
    const int64_t* at = index.data_as<int64_t>() + begin * g.pooled;
    for (int64_t plane = begin, i = begin * g.pooled; plane < end; plane++) {
      const int64_t base = plane * g.full, stop = i + g.pooled;
      prepare(base);
      for (; i < stop; i++, at++) {
        if (UT_UNLIKELY(static_cast<uint64_t>(*at) >= static_cast<uint64_t>(g.full)))
          UT_FAIL("Found an invalid max index: ", *at, " (output volumes are of size ", ShapeText{g.space}, ")");
        f(i, base + *at);
      }
    }
  });
}
constexpr auto kNothing = [](int64_t) {};

void gather(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g) {
  dispatch_width(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_index(g, index, kNothing, [&](int64_t i, int64_t at) { out.data_as<T>()[i] = in.data_as<T>()[at]; });
  });
}

void scatter(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g) {
  zero(out);
  dispatch_width(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_index(g, index, kNothing, [&](int64_t i, int64_t at) { out.data_as<T>()[at] = in.data_as<T>()[i]; });
  });
}

template <class T>
void add_planes(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g) {
  T* to = out.data_as<T>();
  const T* from = in.data_as<T>();
  auto clear = [&](int64_t base) { std::fill_n(to + base, g.full, T(0)); };  // while the plane is in cache
  for_each_index(g, index, clear, [&](int64_t i, int64_t at) { to[at] += from[i]; });
}

void add_at(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g) {
  DType wide = wide_dtype(in.dtype());
  in_wide(out, wide, [&](const Tensor& to) {
    Tensor from = contiguous_as(in, wide);
    if (wide == DType::Float32)
      add_planes<float>(to, from, index, g);
    else
      add_planes<double>(to, from, index, g);
  });
}

}  // namespace

constinit const PoolKernels pool_kernels = {
    .average = average,
    .average_backward = average_backward,
    .largest = largest,
    .fractional_largest = fractional_largest,
    .gather = gather,
    .scatter = scatter,
    .add_at = add_at,
};

}  // namespace undertow::core::cpu
