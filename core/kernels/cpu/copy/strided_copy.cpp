// strided_copy.cpp: see strided_copy.h. Sorts and merges dimensions, then divides the two that matter into tiles.
#include "core/kernels/cpu/copy/strided_copy.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/parallel.h"
#include "core/kernels/cpu/copy/strided_copy_kernels.h"
#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

namespace {

constexpr int64_t kTile = 32 * 1024;      // elements; also the minimum for another thread
constexpr int64_t kTransposedRows = 128;  // of a tile whose source is contiguous across its rows

struct Axis {
  int64_t size, to, from;
};
using Axes = SmallVector<Axis, 8>;

// Sorted by the destination's stride, innermost first; dimensions that are contiguous in both layouts are merged.
Axes joined_axes(const Dims& sizes, const Dims& to, const Dims& from) {
  Axes axes;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    Axis axis{sizes[d], to[d], from[d]};
    size_t at = axes.size();
    axes.push_back(axis);
    for (; at > 0 && std::abs(axes[at - 1].to) > std::abs(axis.to); at--) axes[at] = axes[at - 1];
    axes[at] = axis;
  }
  Axes out;
  for (const Axis& a : axes) {
    if (!out.empty() && a.to == out.back().to * out.back().size && a.from == out.back().from * out.back().size)
      out.back().size *= a.size;
    else
      out.push_back(a);
  }
  return out;
}

}  // namespace

void copy_bytes(char* to, const char* from, int64_t count) { move_kernels().bytes(to, from, count); }

void copy_rows(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t bytes, int64_t rows) {
  move_kernels().plane(1)({to, from, bytes, 1, 1, rows, to_row, from_row});
}

void repeat_first(char* to, int64_t step, int64_t n, int64_t width) {
  move_kernels().plane(width)({to, to, n, step, 0, 1, 0, 0});
}

void copy_bytes_parallel(char* to, const char* from, int64_t count) {
  constexpr int64_t grain = 128 << 10;
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) { copy_bytes(to + begin, from + begin, end - begin); });
}

void move_elements(char* to, const char* from, const Dims& sizes, const Dims& to_strides, const Dims& from_strides,
                   int64_t width) {
  for (int64_t s : sizes)
    if (s == 0) return;
  Axes axes = joined_axes(sizes, to_strides, from_strides);
  if (axes.empty()) axes.push_back({1, width, width});
  if (axes.size() == 1 && axes[0].to == width && axes[0].from == width) {
    copy_bytes_parallel(to, from, axes[0].size * width);
    return;
  }
  // The second dimension of a tile is the one where the source is contiguous, if that is not the first. If one element
  // is repeated along the first, the others' order does not matter.
  Axis inner = axes[0], row{1, 0, 0};
  bool transposed = false;
  if (axes.size() > 1) {
    size_t second = 1;
    if (inner.from != width && inner.from != 0) {
      for (size_t d = 1; d < axes.size(); d++)
        if (axes[d].from == width) second = d;
      transposed = axes[second].from == width;
    }
    row = axes[second];
    axes.erase(second);
  }
  axes.erase(size_t{0});
  int64_t tile_rows, tile_n;
  if (transposed) {
    tile_rows = std::min(row.size, kTransposedRows);
    tile_n = std::min(inner.size, kTile / tile_rows);
  } else {
    tile_n = std::min(inner.size, kTile);
    tile_rows = std::min(row.size, std::max<int64_t>(1, kTile / tile_n));
  }
  int64_t across = (inner.size + tile_n - 1) / tile_n, down = (row.size + tile_rows - 1) / tile_rows, planes = 1;
  for (const Axis& a : axes) planes *= a.size;
  MoveKernels::Plane move = move_kernels().plane(width);
  parallel_for(0, planes * across * down, std::max<int64_t>(1, kTile / (tile_n * tile_rows)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t tile = begin; tile < end; tile++) {
                   int64_t rest = tile, i = 0, r = 0;
                   if (across > 1) i = rest % across * tile_n, rest /= across;
                   if (down > 1) r = rest % down * tile_rows, rest /= down;
                   MovePlane p{to + i * inner.to + r * row.to,
                               from + i * inner.from + r * row.from,
                               std::min(tile_n, inner.size - i),
                               inner.to,
                               inner.from,
                               std::min(tile_rows, row.size - r),
                               row.to,
                               row.from};
                   for (const Axis& a : axes) {
                     p.to += rest % a.size * a.to;
                     p.from += rest % a.size * a.from;
                     rest /= a.size;
                   }
                   move(p);
                 }
               });
}

}  // namespace undertow::core::cpu
