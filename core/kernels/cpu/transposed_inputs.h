// transposed_inputs.h: runs a loop over operands of which some inputs are contiguous across the output's rows: tile by
// tile, with those inputs transposed first. Knows the loop nest and widths, not what is computed.
#pragma once
#include "core/kernels/cpu/copy/strided_copy_kernels.h"
#include "core/kernels/cpu/elementwise_walk.h"

namespace undertow::core::cpu {

// A tile of an input: its rows are read as whole cache lines, its columns make runs worth calling a loop for, and three
// inputs of eight bytes per element stay in the L1 cache.
constexpr int64_t kTileRows = 16, kTileColumns = 128;

// Is input k contiguous along dimension d, but not along the innermost?
inline bool is_contiguous_across(const ElementwiseIter& iter, int k, size_t d, int64_t width) {
  const IntSpan strides = iter.byte_strides(k);
  return strides[0] != width && strides[0] != 0 && strides[d] == width;
}
// The dimension of a tile's rows if tiles are faster, else 0. One output of `out` bytes per element, up to three inputs
// of `in`. Narrow elements are not transposed in registers, so only halves gain, and not from comparisons.
inline size_t tile_dimension(const ElementwiseIter& iter, int64_t out, int64_t in) {
  const IntSpan dims = iter.dims();
  if (dims.size() < 2 || iter.count() > 4 || dims[0] < kTileColumns / 2 || iter.byte_strides(0)[0] != out ||
      (in != 4 && in != 8 && !(in == 2 && out == 2)))
    return 0;
  for (size_t d = 1; d < dims.size(); d++)
    for (int k = 1; k < iter.count(); k++)
      if (dims[d] >= kTileRows && is_contiguous_across(iter, k, d, in)) return d;
  return 0;
}

template <class Loop>
void walk_transposed_inputs(const ElementwiseIter& iter, size_t across, int64_t in, Loop&& loop) {
  const IntSpan dims = iter.dims();
  const int operands = iter.count();
  const MoveKernels::Plane read = move_kernels().plane(in);
  const int64_t down = (dims[across] + kTileRows - 1) / kTileRows;
  auto tiles_of = [&](char* const* start, int64_t rows) {
    alignas(64) char block[3][kTileRows * kTileColumns * 8];
    for (int64_t column = 0; column < dims[0]; column += kTileColumns) {
      const int64_t n = std::min(kTileColumns, dims[0] - column);
      char* p[4];
      int64_t step[4], row[4];
      for (int k = 0; k < operands; k++) {
        const IntSpan strides = iter.byte_strides(k);
        p[k] = start[k] + column * strides[0], step[k] = strides[0], row[k] = strides[across];
        if (k == 0 || !is_contiguous_across(iter, k, across, in)) continue;
        read({block[k - 1], p[k], n, in, strides[0], rows, kTileColumns * in, in});
        p[k] = block[k - 1], step[k] = in, row[k] = kTileColumns * in;
      }
      for (int64_t r = 0; r < rows; r++) {
        loop(p, step, n);
        for (int k = 0; k < operands; k++) p[k] += row[k];
      }
    }
  };
  const int64_t tiles = iter.numel() / dims[0] / dims[across] * down;
  parallel_for(0, tiles, std::max<int64_t>(1, kParallelGrain / (kTileRows * dims[0])), [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; tile++) {
      const int64_t first = tile % down * kTileRows;
      char* p[4];
      for (int k = 0; k < operands; k++) {
        const IntSpan strides = iter.byte_strides(k);
        p[k] = iter.pointer(k) + first * strides[across];
        int64_t rest = tile / down;
        for (size_t d = 1; d < dims.size(); d++) {
          if (d == across) continue;
          p[k] += rest % dims[d] * strides[d];
          rest /= dims[d];
        }
      }
      tiles_of(p, std::min(kTileRows, dims[across] - first));
    }
  });
}

}  // namespace undertow::core::cpu
