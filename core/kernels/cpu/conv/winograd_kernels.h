// winograd_kernels.h: the contract between the drivers of Winograd's convolution (winograd.cpp, winograd_weight.cpp)
// and their kernels, compiled once per instruction set. Knows tiles and lanes; neither threads nor products. See Note
// [Winograd].
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

constexpr int64_t kPlanes = 16;  // elements of a transformed tile, each in its own plane

// A row of neighbouring tiles of one image: tile i reads a square of four by four from (row, column + 2 i), which may
// be partly outside the image.
struct TileRun {
  int64_t row, column, tiles;
};

// Channels of an image, whose planes are contiguous.
struct Planes {
  const float* data;
  int64_t channels, height, width;
};

struct WinogradKernels {
  // Transformed weights of `rows` channels of the result (at most a vector): packed[plane * xi + c * rows + r], from
  // the nine taps at w + r * row_stride + c * channel_stride, read backwards if `flipped`.
  void (*weights)(int64_t rows, int64_t channels, const float* w, int64_t row_stride, int64_t channel_stride,
                  bool flipped, int64_t plane, float* packed);

  // Lanes are tiles: writes transformed tile i of channel c to out[plane * xi + c * width + i]; i must stay below
  // `room`.
  void (*source)(const Planes& from, const TileRun& run, int64_t plane, int64_t width, int64_t room, float* out);
  // The inverse transform: two rows of outputs for every row of products[plane * xi + r * width + i], plus bias[r]. The
  // run's row and column are positions in the result; `rows` and `columns` are what remains of the result from there.
  // Returns true if all are finite.
  bool (*result)(const TileRun& run, int64_t channels, const float* products, int64_t plane, int64_t width,
                 const float* bias, float* to, int64_t to_plane, int64_t to_row, int64_t rows, int64_t columns);

  // Lanes are channels, at most one vector of them: writes tile i of tile row r to out[plane * xi + (r * tiles + i) *
  // width + c], for `tile_rows` rows of tiles, each two lines below the previous one. Writes past the end of each row
  // except the last. `size` is 4 for the source, or 2 for the result, whose tiles do not overlap.
  void (*channels)(int64_t size, const Planes& from, const TileRun& run, int64_t tile_rows, int64_t plane,
                   int64_t width, float* lines, float* out);
  // Nine taps for each of `channels` columns of sums[chunk * chunk_size + plane * xi + c], added over chunks in order.
  // Returns true if all are finite.
  bool (*taps)(int64_t channels, const float* sums, int64_t plane, int64_t chunks, int64_t chunk_size, float* w);
};

UNDERTOW_FOR_EACH_ISA(const WinogradKernels& winograd_kernels();)

inline const WinogradKernels& winograd_kernels() {
  static const WinogradKernels& chosen = UNDERTOW_CHOOSE_ISA(winograd_kernels());
  return chosen;
}

}  // namespace undertow::core::cpu
