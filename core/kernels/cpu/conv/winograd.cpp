// winograd.cpp: a 3x3 convolution and its input gradient by Winograd's algorithm. See Note [Winograd].
// Divides the work among threads; the transforms are in winograd.isa.cpp, the products are gemm's.
// build: small
#include "core/kernels/cpu/conv/winograd.h"

#include <algorithm>
#include <atomic>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/kernels/cpu/conv/winograd_kernels.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/gemm_kernels.h"
#include "core/kernels/cpu/redundant_chunks.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

constexpr int64_t kMinChannels = 16;      // of x and of y: with fewer, transforms take as long as products
constexpr int64_t kRowsAtOnce = 56;       // channels of the result whose products stay in the L2 cache
constexpr int64_t kChunkWork = 1 << 19;   // multiply-adds that justify a chunk
constexpr int64_t kOwnWeights = 1 << 16;  // transformed weights that a task keeps in its L2 cache
constexpr int64_t kMaxStored = 1 << 21;   // transformed weights, or tiles, that are stored at once
constexpr int64_t kMinShare = 64;         // minimum channels of the result that justify transforming all tiles

struct Weights;
struct Sources;
struct Products;
struct Biases;

struct Image {
  int64_t channels, height, width;  // channels of one group
  int64_t plane() const { return height * width; }
};

// Result (batch, groups, result.channels) from source (batch, groups, source.channels).
struct Work {
  int64_t batch, groups;
  Image source, result;
  const float* from;
  float* to;
  int64_t pad1, pad2;  // output i reads from i - pad on
  const float* weights;
  int64_t weight_group, weight_row, weight_channel;
  bool flipped;
  const float* bias;
};

class Gather {
 public:
  explicit Gather(const Work& w)
      : w_(w),
        depth_(w.source.channels),
        rows_(w.result.channels),
        across_(ceil_div(w.result.width, 2)),
        down_(ceil_div(w.result.height, 2)),
        tiles_(w.batch * across_ * down_),
        panel_(gemm_kernels<float>().panel_cols),
        panels_(ceil_div(tiles_, panel_)),
        tile_rows_(ceil_div(
            rows_, ceil_div(rows_, std::min(gemm_kernels<float>().max_tile_rows, gemm_kernels<float>().lanes)))) {
    // A cache line more than a power of two, so that the sixteen planes do not evict each other from the L1 cache.
    skew_ = 64 / static_cast<int64_t>(sizeof(float));
    source_plane_ = depth_ * panel_ + skew_;
  }

  // Returns false if a result was not finite.
  bool run() {
    bias_ = Scratch<Biases>::get<float>(w_.groups * rows_);
    for (int64_t i = 0; i < w_.groups * rows_; ++i) bias_[i] = w_.bias ? w_.bias[i] : 0;
    int64_t rows_at_once = std::max<int64_t>(1, kMaxStored / (kPlanes * depth_ * tile_rows_)) * tile_rows_;
    int64_t panels_at_once = std::max<int64_t>(1, kMaxStored / (kPlanes * depth_ * panel_));
    for (int64_t group = 0; group < w_.groups; ++group) {
      if (rows_ > tiles_) {
        int64_t shares = max_redundant_chunks(rows_ / kMinShare),
                share = ceil_div(ceil_div(rows_, shares), tile_rows_) * tile_rows_;
        parallel_for(0, ceil_div(rows_, share), 1, [&](int64_t begin, int64_t end) {
          for (int64_t p = 0; p < panels_; p += panels_at_once) {
            by_weights(group, p, std::min(panels_at_once, panels_ - p), begin * share, std::min(end * share, rows_));
          }
        });
      } else {
        for (int64_t i = 0; i < rows_ && finite_; i += rows_at_once)
          by_tiles(group, i, std::min(rows_at_once, rows_ - i));
      }
    }
    return finite_;
  }

 private:
  // For many tiles: the weights of some rows are transformed once, and every task transforms its own panel of tiles.
  void by_tiles(int64_t group, int64_t row, int64_t rows) {
    int64_t plane = rows * depth_ + skew_;
    float* weights = Scratch<Weights>::get<float>(kPlanes * plane);
    parallel_for(0, ceil_div(rows, tile_rows_), std::max<int64_t>(1, (1 << 12) / (tile_rows_ * depth_)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin * tile_rows_; i < std::min(end * tile_rows_, rows); i += tile_rows_) {
                     transform_weights(group, row + i, plane, weights + i * depth_);
                   }
                 });
    int64_t step = std::max<int64_t>(1, kRowsAtOnce / tile_rows_) * tile_rows_;
    parallel_for(0, panels_, std::max<int64_t>(1, kChunkWork / (kPlanes * panel_ * depth_ * rows)),
                 [&](int64_t begin, int64_t end) {
                   float* sources = Scratch<Sources>::get<float>(kPlanes * source_plane_);
                   for (int64_t p = begin; p < end; ++p) {
                     transform_source(group, p, sources);
                     for (int64_t i = 0; i < rows; i += step)
                       multiply(group, p, sources, row + i, std::min(step, rows - i), weights + i * depth_, plane);
                   }
                 });
  }

  // For few tiles, a task for channels [row, end) of the result: it transforms some panels, and then its weights, a few
  // at a time, so that they never leave its L2 cache. See Note [Redundant Preparation].
  void by_weights(int64_t group, int64_t panel, int64_t panels, int64_t row, int64_t end) {
    float* sources = Scratch<Sources>::get<float>(panels * kPlanes * source_plane_);
    for (int64_t p = 0; p < panels; ++p) transform_source(group, panel + p, sources + p * kPlanes * source_plane_);
    int64_t step = std::clamp<int64_t>(kOwnWeights / (kPlanes * depth_ * tile_rows_), 1,
                                       std::max<int64_t>(1, kRowsAtOnce / tile_rows_)) *
                   tile_rows_;
    int64_t plane = step * depth_ + skew_;
    float* weights = Scratch<Weights>::get<float>(kPlanes * plane);
    for (int64_t i = row; i < end; i += step) {
      int64_t rows = std::min(step, end - i);
      for (int64_t r = 0; r < rows; r += tile_rows_) transform_weights(group, i + r, plane, weights + r * depth_);
      for (int64_t p = 0; p < panels; ++p)
        multiply(group, panel + p, sources + p * kPlanes * source_plane_, i, rows, weights, plane);
    }
  }

  void transform_weights(int64_t group, int64_t row, int64_t plane, float* to) const {
    winograd_kernels().weights(std::min(tile_rows_, rows_ - row), depth_,
                               w_.weights + group * w_.weight_group + row * w_.weight_row, w_.weight_row,
                               w_.weight_channel, w_.flipped, plane, to);
  }

  // Calls f(position in the panel, image, run) for the runs of a panel of tiles.
  template <class F>
  void for_runs(int64_t panel, F f) const {
    int64_t end = std::min((panel + 1) * panel_, tiles_);
    for (int64_t at = panel * panel_; at < end;) {
      int64_t line = at / across_, column = at % across_, count = std::min(across_ - column, end - at);
      f(at - panel * panel_, line / down_, TileRun{2 * (line % down_), 2 * column, count});
      at += count;
    }
  }

  int64_t tiles_of(int64_t panel) const { return std::min(panel_, tiles_ - panel * panel_); }
  int64_t width_of(int64_t panel) const {
    return tiles_of(panel) <= gemm_kernels<float>().lanes ? gemm_kernels<float>().lanes : panel_;
  }

  void transform_source(int64_t group, int64_t panel, float* to) const {
    int64_t width = width_of(panel);
    for_runs(panel, [&](int64_t at, int64_t image, TileRun run) {
      const float* from = w_.from + (image * w_.groups + group) * depth_ * w_.source.plane();
      run.row -= w_.pad1;
      run.column -= w_.pad2;
      winograd_kernels().source({from, depth_, w_.source.height, w_.source.width}, run, source_plane_, width,
                                width - at, to + at);
    });
  }

  // Channels [row, row + rows) of the results of a panel of tiles.
  void multiply(int64_t group, int64_t panel, const float* sources, int64_t row, int64_t rows, const float* weights,
                int64_t weight_plane) {
    int64_t plane = rows * panel_ + skew_;
    float* sums = Scratch<Products>::get<float>(kPlanes * plane + skew_);
    for (int64_t xi = 0; xi < kPlanes; ++xi) {
      Product<float> part{
          rows, tiles_of(panel),   depth_, 1, weights + xi * weight_plane, 0, 0, sources + xi * source_plane_, 0, 0,
          0,    sums + xi * plane, panel_, 1};
      gemm_kernels<float>().packed(part, tile_rows_);
    }
    for_runs(panel, [&](int64_t at, int64_t image, TileRun run) {
      float* to = w_.to + ((image * w_.groups + group) * rows_ + row) * w_.result.plane() + run.row * w_.result.width +
                  run.column;
      bool finite = winograd_kernels().result(run, rows, sums + at, plane, panel_, bias_ + group * rows_ + row, to,
                                              w_.result.plane(), w_.result.width, w_.result.height - run.row,
                                              w_.result.width - run.column);
      if (!finite) finite_.store(false, std::memory_order_relaxed);
    });
  }

  const Work& w_;
  int64_t depth_, rows_;
  int64_t across_, down_, tiles_;  // tiles per row, rows of tiles per image, tiles of all images
  int64_t panel_, panels_, tile_rows_, skew_, source_plane_;
  float* bias_ = nullptr;
  std::atomic<bool> finite_ = true;  // atomic: any task may clear it; no ordering is needed
};

}  // namespace

bool winograd_pays_off(const ConvShape& s, const int64_t (&outputs)[3]) {
  for (int axis = 1; axis < 3; ++axis) {
    if (s.kernel[axis] != 3 || s.stride[axis] != 1 || s.dilation[axis] != 1) return false;
  }
  if (s.kernel[0] != 1 || s.in[0] != 1 || s.out[0] != 1) return false;
  if (s.in_channels / s.groups < kMinChannels || s.out_channels / s.groups < kMinChannels) return false;
  // Compares the multiplications of all tiles, including parts outside the image, plus a third for the transforms, with
  // those of the direct method.
  int64_t tiles = ceil_div(outputs[1], 2) * ceil_div(outputs[2], 2);
  return s.batch * tiles > 0 && tiles * 16 * 4 < outputs[1] * outputs[2] * 9 * 3;
}

bool winograd_forward(const ConvShape& s, const float* x, const float* w, const float* bias, float* y) {
  int64_t c = s.in_channels / s.groups, m = s.out_channels / s.groups;
  if (!winograd_pays_off(s, s.out)) return false;
  return Gather({s.batch,
                 s.groups,
                 {c, s.in[1], s.in[2]},
                 {m, s.out[1], s.out[2]},
                 x,
                 y,
                 s.pad[1],
                 s.pad[2],
                 w,
                 m * c * 9,
                 c * 9,
                 9,
                 false,
                 bias})
      .run();
}

bool winograd_input(const ConvShape& s, const float* y, const float* w, const float* bias, float* x) {
  int64_t m = s.in_channels / s.groups, c = s.out_channels / s.groups;
  if (!winograd_pays_off(s, s.in)) return false;
  return Gather({s.batch,
                 s.groups,
                 {c, s.out[1], s.out[2]},
                 {m, s.in[1], s.in[2]},
                 y,
                 x,
                 2 - s.pad[1],
                 2 - s.pad[2],
                 w,
                 c * m * 9,
                 9,
                 m * 9,
                 true,
                 bias})
      .run();
}

}  // namespace undertow::core::cpu
