// average.cpp: window averages and their transpose. See PoolKernels.
#include <algorithm>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/planes.h"
#include "core/kernels/cpu/pool/pool.h"
#include "core/kernels/cpu/pool/window_table.h"

namespace undertow::core::cpu {

namespace {

// The divisor of a window is the product of its numbers of elements along the axes.
template <class T>
struct Divisors {
  std::vector<T> axis[3];
};

template <class T>
Divisors<T> divisors_of(const Pooling& p, const AverageBy& how) {
  Divisors<T> out;
  for (int d = 0; d < 3; d++)
    for (int64_t o = 0; o < p.axis[d].out(); o++) {
      int64_t n = p.axis[d].last[static_cast<size_t>(o)] - p.axis[d].first[static_cast<size_t>(o)];
      if (how.divisor)
        n = d == 0 ? *how.divisor : 1;
      else if (how.count_include_pad && p.regular) {
        const WindowGrid& g = p.grid[d];
        int64_t start = o * g.stride - g.padding;
        n = std::min(start + g.kernel, g.in + g.padding) - start;
      }
      out.axis[d].push_back(static_cast<T>(n));
    }
  return out;
}

// Do all windows have the same divisor?
template <class T>
bool is_even(const Divisors<T>& by) {
  for (const auto& axis : by.axis)
    for (T d : axis)
      if (d != axis[0]) return false;
  return true;
}

// Windows of any shape, one by one.
template <class T>
void average_of(const Windows* axis, const Divisors<T>& by, const T* plane, T* out) {
  const Windows &az = axis[0], &ay = axis[1], &ax = axis[2];
  for (size_t z = 0; z < az.first.size(); z++)
    for (size_t y = 0; y < ay.first.size(); y++)
      for (size_t x = 0; x < ax.first.size(); x++) {
        T sum = 0;
        for (int64_t k = az.first[z]; k < az.last[z]; k++)
          for (int64_t j = ay.first[y]; j < ay.last[y]; j++)
            for (int64_t i = ax.first[x]; i < ax.last[x]; i++) sum += plane[(k * ay.in + j) * ax.in + i];
        *out++ = sum / (by.axis[0][z] * by.axis[1][y] * by.axis[2][x]);
      }
}

// The transpose: each element, divided, is added to all elements of its window. `row` is scratch for one row of them.
template <class T>
void spread_over(const Pooling& p, const Divisors<T>& by, const std::vector<PoolSpan>& columns, const T* grad, T* plane,
                 T* row) {
  const Windows &az = p.axis[0], &ay = p.axis[1], &ax = p.axis[2];
  const int64_t n = ax.out(), stride = p.grid[2].stride, padding = p.grid[2].padding;
  std::fill_n(plane, p.in_plane, T(0));
  for (size_t z = 0; z < az.first.size(); z++)
    for (size_t y = 0; y < ay.first.size(); y++, grad += n) {
      const T scale = by.axis[0][z] * by.axis[1][y];
      for (int64_t x = 0; x < n; x++) row[x] = grad[x] / (scale * by.axis[2][static_cast<size_t>(x)]);
      for (int64_t k = az.first[z]; k < az.last[z]; k++)
        for (int64_t j = ay.first[y]; j < ay.last[y]; j++) {
          T* to = plane + (k * ay.in + j) * ax.in;
          if (!p.regular) {
            for (size_t x = 0; x < static_cast<size_t>(n); x++)
              for (int64_t i = ax.first[x]; i < ax.last[x]; i++) to[i] += row[x];
            continue;
          }
          for (size_t tap = 0; tap < columns.size(); tap++) {
            T* at = to - padding + static_cast<int64_t>(tap);
            for (int64_t x = columns[tap].begin; x < columns[tap].end; x++) at[x * stride] += row[x];
          }
        }
    }
}

// Do the windows cover the plane, each element once?
bool tiles(const Pooling& p) {
  if (!p.regular) return false;
  for (const auto& g : p.grid)
    if (g.stride != g.kernel || g.padding != 0 || g.in != g.out * g.kernel) return false;
  return true;
}

// The transpose for windows that tile the plane: an element is written once, and all rows of a window are copies.
template <class T>
void spread_tiles(const Pooling& p, const Divisors<T>& by, const T* grad, T* plane) {
  const WindowGrid &az = p.grid[0], &ay = p.grid[1], &ax = p.grid[2];
  const T divisor = by.axis[0][0] * by.axis[1][0] * by.axis[2][0];
  if (p.out_plane == 1) {
    std::fill_n(plane, p.in_plane, grad[0] / divisor);
    return;
  }
  for (int64_t z = 0; z < az.out; z++) {
    T* slab = plane + z * az.kernel * ay.in * ax.in;
    for (int64_t y = 0; y < ay.out; y++, grad += ax.out) {
      T* row = slab + y * ay.kernel * ax.in;
      for (int64_t x = 0; x < ax.out; x++) {
        const T each = grad[x] / divisor;
        for (int64_t i = 0; i < ax.kernel; i++) row[x * ax.kernel + i] = each;
      }
      for (int64_t j = 1; j < ay.kernel; j++) std::copy_n(row, ax.in, row + j * ax.in);
    }
    for (int64_t k = 1; k < az.kernel; k++) std::copy_n(slab, ay.in * ax.in, slab + k * ay.in * ax.in);
  }
}

std::vector<PoolSpan> columns_of(const Pooling& p) {
  std::vector<PoolSpan> columns;
  for (int64_t k = 0; p.regular && k < p.grid[2].kernel; k++) columns.push_back(windows_of_tap(axis_of(p.grid[2]), k));
  return columns;
}

template <class T>
void average_planes(const Tensor& out, const Tensor& in, const Pooling& p, const AverageBy& how) {
  Divisors<T> by = divisors_of<T>(p, how);
  std::vector<PoolSpan> columns = columns_of(p);
  PoolGrid grid{{axis_of(p.grid[0]), axis_of(p.grid[1]), axis_of(p.grid[2])}, nullptr, columns.data()};
  if constexpr (std::is_floating_point_v<T>) {
    WindowTable table = table_of(p);
    if (table.planes && table.alike && is_even(by)) {
      T divisor = by.axis[0][0] * by.axis[1][0] * by.axis[2][0];
      parallel_for(0, (p.planes + table.planes - 1) / table.planes, plane_grain(p.in_plane * table.planes),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t g = begin; g < end; g++) {
                       int64_t first = g * table.planes,
                               windows = std::min(table.planes, p.planes - first) * p.out_plane;
                       pool_loops(T()).average_at(table.view(), windows, in.data_as<T>() + first * p.in_plane, divisor,
                                                  out.data_as<T>() + first * p.out_plane);
                     }
                   });
      return;
    }
  }
  parallel_for(0, p.planes, plane_grain(p.in_plane), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const T* from = in.data_as<T>() + i * p.in_plane;
      T* to = out.data_as<T>() + i * p.out_plane;
      if constexpr (std::is_floating_point_v<T>) {
        if (p.regular) {
          pool_loops(T()).average(grid, from, to, by.axis[0].data(), by.axis[1].data(), by.axis[2].data());
          continue;
        }
      }
      average_of(p.axis, by, from, to);
    }
  });
}

template <class T>
void spread_planes(const Tensor& out, const Tensor& grad, const Pooling& p, const AverageBy& how) {
  std::vector<PoolSpan> columns = columns_of(p);
  Divisors<T> by = divisors_of<T>(p, how);
  if (tiles(p) && p.out_plane > 0) {
    parallel_for(0, p.planes, plane_grain(p.in_plane), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++)
        spread_tiles(p, by, grad.data_as<T>() + i * p.out_plane, out.data_as<T>() + i * p.in_plane);
    });
    return;
  }
  parallel_for(0, p.planes, plane_grain(p.in_plane), [&](int64_t begin, int64_t end) {
    std::vector<T> row(static_cast<size_t>(p.axis[2].out()));
    for (int64_t i = begin; i < end; i++)
      spread_over(p, by, columns, grad.data_as<T>() + i * p.out_plane, out.data_as<T>() + i * p.in_plane, row.data());
  });
}

}  // namespace

void average(const Tensor& out, const Tensor& in, const Pooling& p, const AverageBy& by) {
  if (out.numel() == 0) return;
  DType wide = wide_dtype(in.dtype());
  in_wide(out, wide, [&](const Tensor& to) {
    Tensor from = contiguous_as(in, wide);
    if (wide == DType::Float32)
      average_planes<float>(to, from, p, by);
    else if (wide == DType::Float64)
      average_planes<double>(to, from, p, by);
    else
      average_planes<int64_t>(to, from, p, by);
  });
}

void average_backward(const Tensor& grad_input, const Tensor& grad_output, const Pooling& p, const AverageBy& by) {
  DType wide = wide_dtype(grad_output.dtype());
  in_wide(grad_input, wide, [&](const Tensor& to) {
    Tensor from = contiguous_as(grad_output, wide);
    if (wide == DType::Float32)
      spread_planes<float>(to, from, p, by);
    else
      spread_planes<double>(to, from, p, by);
  });
}

}  // namespace undertow::core::cpu
