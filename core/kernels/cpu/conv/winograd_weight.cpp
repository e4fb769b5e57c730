// winograd_weight.cpp: the weight gradient of a 3x3 convolution by Winograd's algorithm: sixteen products of
// transformed results with transformed sources, summed over tiles. See Note [Winograd].
#include <algorithm>
#include <atomic>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/kernels/cpu/conv/winograd.h"
#include "core/kernels/cpu/conv/winograd_kernels.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/gemm_kernels.h"
#include "core/kernels/cpu/redundant_chunks.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

// Note [Winograd Weight Gradient]
// A task transforms some tiles and sums their products by itself. First the rows of tiles are divided among tasks, as
// far as there is memory for their sums (in chunks that depend only on the shape, and whose sums are added in order, as
// in Note [Weight Gradient Chunks]). Then the channels of y are divided (Note [Redundant Preparation]: each share
// transforms all of x again).
constexpr int64_t kMaxChunks = 8;
constexpr int64_t kMaxSums = 1 << 20;  // elements, of all chunks together, or of one pass over some channels of y
constexpr int64_t kMinShare = 56;      // minimum channels of y that justify transforming x
constexpr int64_t kTilesAtOnce = 64;
constexpr int64_t kMaxElements = 1 << 22;  // in a row of transformed tiles: wider images are summed directly
constexpr int64_t kSkew = 16;              // see winograd.cpp

struct Sources;
struct Results;
struct AllSums;
struct OwnSums;
struct Lines;

class WeightWork {
 public:
  WeightWork(const ConvShape& s, const float* x, const float* y, float* w)
      : s_(s),
        x_(x),
        y_(y),
        w_(w),
        channels_(s.in_channels / s.groups),
        rows_(s.out_channels / s.groups),
        across_(ceil_div(s.out[2], 2)),
        down_(ceil_div(s.out[1], 2)),
        lines_(s.batch * down_),
        lanes_(gemm_kernels<float>().lanes),
        panel_(gemm_kernels<float>().panel_cols),
        tile_rows_(ceil_div(rows_, ceil_div(rows_, std::min(gemm_kernels<float>().max_tile_rows, lanes_)))),
        plane_(rows_ * channels_ + kSkew) {
    int64_t most = std::clamp<int64_t>(kMaxSums / (kPlanes * plane_), 1, kMaxChunks);
    lines_of_chunk_ = ceil_div(lines_, most);
    chunks_ = ceil_div(lines_, lines_of_chunk_);
    int64_t shares = chunks_ > 1 ? 1 : max_redundant_chunks(rows_ / kMinShare);
    rows_of_share_ = ceil_div(ceil_div(rows_, shares), tile_rows_) * tile_rows_;
    shares_ = ceil_div(rows_, rows_of_share_);
    lines_at_once_ = std::clamp<int64_t>(kTilesAtOnce / across_, 1, lines_of_chunk_);
  }

  // Returns false if a result was not finite.
  bool run() {
    for (int64_t group = 0; group < s_.groups && finite_; ++group) {
      if (chunks_ == 1) {
        parallel_for(0, shares_, 1, [&](int64_t begin, int64_t end) {
          for (int64_t share = begin; share < end; ++share) sum_and_write(group, share);
        });
        continue;
      }
      float* sums = Scratch<AllSums>::get<float>(chunks_ * kPlanes * plane_);
      parallel_for(0, chunks_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t chunk = begin; chunk < end; ++chunk)
          sum(group, chunk, 0, rows_, sums + chunk * kPlanes * plane_, plane_);
      });
      parallel_for(0, rows_, std::max<int64_t>(1, (1 << 10) / channels_), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) write(group * rows_ + r, sums + r * channels_, plane_);
      });
    }
    return finite_;
  }

 private:
  // All tiles, some channels of y at a time, so that their sums stay in the thread's L2 cache.
  void sum_and_write(int64_t group, int64_t share) {
    int64_t end = std::min((share + 1) * rows_of_share_, rows_);
    int64_t step =
        std::clamp<int64_t>(kMaxSums / 2 / (kPlanes * channels_ * tile_rows_), 1, rows_of_share_ / tile_rows_) *
        tile_rows_;
    for (int64_t row = share * rows_of_share_; row < end; row += step) {
      int64_t rows = std::min(step, end - row), plane = rows * channels_ + kSkew;
      float* sums = Scratch<OwnSums>::get<float>(kPlanes * plane);
      sum(group, 0, row, rows, sums, plane);
      for (int64_t r = 0; r < rows; ++r) write(group * rows_ + row + r, sums + r * channels_, plane);
    }
  }

  // The sums over the tiles of a chunk, for channels [row, row + rows) of y.
  void sum(int64_t group, int64_t chunk, int64_t row, int64_t rows, float* sums, int64_t plane) const {
    int64_t most = lines_at_once_ * across_, source_plane = ceil_div(channels_, panel_) * panel_ * most + kSkew,
            result_plane = rows * most + kSkew;
    float* sources = Scratch<Sources>::get<float>(kPlanes * source_plane);
    float* results = Scratch<Results>::get<float>(kPlanes * result_plane);
    int64_t begin = chunk * lines_of_chunk_, end = std::min(begin + lines_of_chunk_, lines_);
    for (int64_t line = begin; line < end; line += lines_at_once_) {
      int64_t lines = std::min(lines_at_once_, end - line), tiles = lines * across_;
      for (int64_t c = 0; c < channels_; c += lanes_) {
        int64_t first = c / panel_ * panel_, width = channels_ - first <= lanes_ ? lanes_ : panel_;
        transform(4, x_, {nullptr, std::min(lanes_, channels_ - c), s_.in[1], s_.in[2]}, group * channels_ + c,
                  s_.in_channels, line, lines, source_plane, width, sources + first * tiles + (c - first));
      }
      for (int64_t r = 0; r < rows; r += tile_rows_) {
        int64_t width = std::min(tile_rows_, rows - r);
        transform(2, y_, {nullptr, width, s_.out[1], s_.out[2]}, group * rows_ + row + r, s_.out_channels, line, lines,
                  result_plane, width, results + r * tiles);
      }
      for (int64_t xi = 0; xi < kPlanes; ++xi) {
        gemm_kernels<float>().packed(
            {rows, channels_, tiles, 1, results + xi * result_plane, 0, 0, sources + xi * source_plane, 0, 0,
             line > begin ? 1.0f : 0.0f, sums + xi * plane, channels_, 1},
            tile_rows_);
      }
    }
  }

  // Transforms rows [line, line + lines) of tiles, for a vector of channels.
  void transform(int64_t size, const float* data, Planes from, int64_t channel, int64_t channels, int64_t line,
                 int64_t lines, int64_t plane, int64_t width, float* to) const {
    float* copies = Scratch<Lines>::get<float>(4 * (2 * across_ + 2 + lanes_) * lanes_);
    int64_t pad1 = size == 4 ? s_.pad[1] : 0, pad2 = size == 4 ? s_.pad[2] : 0;
    for (int64_t end = line + lines; line < end;) {
      int64_t image = line / down_, at = line % down_, count = std::min(down_ - at, end - line);
      from.data = data + (image * channels + channel) * from.height * from.width;
      winograd_kernels().channels(size, from, {2 * at - pad1, -pad2, across_}, count, plane, width, copies, to);
      to += count * across_ * width;
      line += count;
    }
  }

  // Converts the sums of a channel of y to its weights.
  void write(int64_t row, const float* sums, int64_t plane) {
    bool finite = winograd_kernels().taps(channels_, sums, plane, chunks_, kPlanes * plane_, w_ + row * channels_ * 9);
    if (!finite) finite_.store(false, std::memory_order_relaxed);
  }

  const ConvShape& s_;
  const float *x_, *y_;
  float* w_;
  int64_t channels_, rows_;        // per group: channels of x, channels of y
  int64_t across_, down_, lines_;  // tiles per row, rows of tiles per image, rows of tiles of all images
  int64_t lanes_, panel_, tile_rows_, plane_;
  int64_t lines_of_chunk_, chunks_, rows_of_share_, shares_, lines_at_once_;
  std::atomic<bool> finite_ = true;  // atomic: any task may clear it; no ordering is needed
};

}  // namespace

bool winograd_weight(const ConvShape& s, const float* x, const float* y, float* w) {
  int64_t row_of_tiles = kPlanes * std::max(s.in_channels, s.out_channels) / s.groups * ceil_div(s.out[2], 2);
  return row_of_tiles <= kMaxElements && winograd_pays_off(s, s.out) && WeightWork(s, x, y, w).run();
}

}  // namespace undertow::core::cpu
