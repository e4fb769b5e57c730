// winograd_weight.cpp: the adjoint of a 3x3 convolution by its weight, by Winograd's algorithm: sixteen products of transformed
// results with transformed sources, summed over tiles. See Note [Winograd].
#include <algorithm>
#include <atomic>

#include "core/base/parallel.h"
#include "core/kernels/cpu/gemm_kernels.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/scratch.h"
#include "core/kernels/cpu/winograd.h"
#include "core/kernels/cpu/winograd_kernels.h"

namespace undertow::cpu {
namespace {

constexpr int64_t kBlock = 1 << 19;      // elements of transformed tiles worked on at once, of source or result
constexpr int64_t kTaskTiles = 64;       // tiles worth a task that transforms them
constexpr int64_t kOwnSums = 1 << 17;    // sums that stay in a thread's second cache
constexpr int64_t kMostSums = 1 << 22;   // sums of one pass: larger weights take several
constexpr int64_t kMostTiles = 1 << 22;  // elements of a row of transformed tiles: wider images are summed directly
constexpr int64_t kRowsAtOnce = 56;
constexpr int64_t kSkew = 16;            // see winograd.cpp

struct Sources;
struct Results;
struct Sums;
struct Lines;

int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

const GemmKernels<float>& products() {
  static const GemmKernels<float>& chosen = UNDERTOW_CHOOSE_ISA(gemm_kernels<float>());
  return chosen;
}
const WinogradKernels& kernels() {
  static const WinogradKernels& chosen = UNDERTOW_CHOOSE_ISA(winograd_kernels());
  return chosen;
}

// Tiles are worked on in blocks of whole rows of tiles, in order, so the sums do not depend on the number of threads.
class WeightWork {
 public:
  WeightWork(const ConvShape& s, const float* x, const float* y, float* w)
      : s_(s),
        x_(x),
        y_(y),
        w_(w),
        channels_(s.in_channels / s.groups),
        all_rows_(s.out_channels / s.groups),
        across_(ceil_div(s.out[2], 2)),
        down_(ceil_div(s.out[1], 2)),
        lines_(s.batch * down_),
        lanes_(products().lanes),
        panel_(products().panel_cols),
        tile_rows_(ceil_div(all_rows_, ceil_div(all_rows_, std::min(products().max_tile_rows, lanes_)))) {
    int64_t most = kMostSums / (kPlanes * channels_ * tile_rows_) * tile_rows_;
    rows_ = std::clamp(most, tile_rows_, all_rows_);
    lines_at_once_ = std::clamp<int64_t>(kBlock / (kPlanes * std::max(channels_, rows_) * across_), 1, lines_);
    int64_t tiles = lines_at_once_ * across_;
    source_plane_ = ceil_div(channels_, panel_) * panel_ * tiles + kSkew;
    result_plane_ = rows_ * tiles + kSkew;
  }

  // False if something was not finite.
  bool run() {
    sources_ = Scratch<Sources>::get<float>(kPlanes * source_plane_);
    results_ = Scratch<Results>::get<float>(kPlanes * result_plane_);
    int64_t rows_at_once = rows_;
    for (int64_t group = 0; group < s_.groups; ++group) {
      for (int64_t row = 0; row < all_rows_ && finite_; row += rows_at_once) {
        first_row_ = group * all_rows_ + row;
        rows_ = std::min(rows_at_once, all_rows_ - row);
        run_rows(group);
      }
    }
    return finite_;
  }

 private:
  // The weights of rows_ channels of y.
  void run_rows(int64_t group) {
    if (lines_at_once_ == lines_) {
      transform(group, 0, lines_);
      return multiply_once();
    }
    int64_t plane = rows_ * channels_ + kSkew;
    float* sums = Scratch<Sums>::get<float>(kPlanes * plane);
    for (int64_t line = 0; line < lines_; line += lines_at_once_) {
      int64_t lines = std::min(lines_at_once_, lines_ - line);
      transform(group, line, lines);
      multiply(lines, line > 0 ? 1.0f : 0.0f, sums, plane);
    }
    parallel_for(0, rows_, std::max<int64_t>(1, (1 << 11) / channels_), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) write(r, sums + r * channels_, plane);
    });
  }

  // Transforms rows [line, line + lines) of tiles: sources into panels of columns, results into panels of rows.
  void transform(int64_t group, int64_t line, int64_t lines) const {
    int64_t step = std::max<int64_t>(1, kTaskTiles / across_), parts = ceil_div(lines, step);
    int64_t source_blocks = ceil_div(channels_, lanes_), result_blocks = ceil_div(rows_, tile_rows_);
    parallel_for(0, parts * (source_blocks + result_blocks), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t first = i % parts * step, block = i / parts, count = std::min(step, lines - first);
        if (block < source_blocks) {
          int64_t c = block * lanes_, panel = c / panel_ * panel_, width = channels_ - panel <= lanes_ ? lanes_ : panel_;
          float* to = sources_ + panel * lines * across_ + (c - panel) + first * across_ * width;
          transform_lines(4, x_, {nullptr, std::min(lanes_, channels_ - c), s_.in[1], s_.in[2]}, group * channels_ + c, s_.in_channels, line + first, count,
                          source_plane_, width, to);
        } else {
          int64_t r = (block - source_blocks) * tile_rows_, width = std::min(tile_rows_, rows_ - r);
          float* to = results_ + r * lines * across_ + first * across_ * width;
          transform_lines(2, y_, {nullptr, width, s_.out[1], s_.out[2]}, first_row_ + r, s_.out_channels, line + first, count, result_plane_, width, to);
        }
      }
    });
  }

  void transform_lines(int64_t size, const float* data, Planes from, int64_t channel, int64_t channels, int64_t line, int64_t lines, int64_t plane,
                       int64_t width, float* to) const {
    float* copies = Scratch<Lines>::get<float>(4 * (2 * across_ + 2 + lanes_) * lanes_);
    int64_t pad1 = size == 4 ? s_.pad[1] : 0, pad2 = size == 4 ? s_.pad[2] : 0;
    for (int64_t end = line + lines; line < end;) {
      int64_t image = line / down_, at = line % down_, count = std::min(down_ - at, end - line);
      from.data = data + (image * channels + channel) * from.height * from.width;
      kernels().channels(size, from, {2 * at - pad1, -pad2, across_}, count, plane, width, copies, to);
      to += count * across_ * width;
      line += count;
    }
  }

  Product<float> product(int64_t xi, int64_t row, int64_t rows, int64_t tiles, float beta, float* sums) const {
    return {rows, channels_, tiles, 1, results_ + xi * result_plane_ + row * tiles, 0, 0, sources_ + xi * source_plane_, 0, 0, beta, sums, channels_, 1};
  }

  void multiply(int64_t lines, float beta, float* sums, int64_t plane) const {
    int64_t step = std::max<int64_t>(1, kRowsAtOnce / tile_rows_) * tile_rows_, blocks = ceil_div(rows_, step);
    parallel_for(0, kPlanes * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t xi = i / blocks, row = i % blocks * step;
        products().packed(product(xi, row, std::min(step, rows_ - row), lines * across_, beta, sums + xi * plane + row * channels_), tile_rows_);
      }
    });
  }

  // All tiles are there: some rows at a time, and the sums never leave a thread's cache.
  void multiply_once() {
    int64_t step = std::clamp<int64_t>(kOwnSums / (kPlanes * channels_ * tile_rows_), 1, std::max<int64_t>(1, kRowsAtOnce / tile_rows_)) * tile_rows_;
    int64_t plane = step * channels_ + kSkew;
    parallel_for(0, ceil_div(rows_, step), 1, [&](int64_t begin, int64_t end) {
      float* sums = Scratch<Sums>::get<float>(kPlanes * plane);
      for (int64_t row = begin * step; row < std::min(end * step, rows_); row += step) {
        int64_t rows = std::min(step, rows_ - row);
        for (int64_t xi = 0; xi < kPlanes; ++xi) products().packed(product(xi, row, rows, lines_ * across_, 0, sums + xi * plane), tile_rows_);
        for (int64_t r = 0; r < rows; ++r) write(row + r, sums + r * channels_, plane);
      }
    });
  }

  void write(int64_t row, const float* sums, int64_t plane) {
    bool finite = kernels().taps(channels_, sums, plane, w_ + (first_row_ + row) * channels_ * 9);
    if (!finite) finite_.store(false, std::memory_order_relaxed);
  }

  const ConvShape& s_;
  const float *x_, *y_;
  float* w_;
  int64_t channels_, all_rows_;       // of a group: channels of x, channels of y
  int64_t first_row_ = 0, rows_;      // the channels of y that one pass is about
  int64_t across_, down_, lines_;    // tiles of a row, rows of an image, rows of all images
  int64_t lanes_, panel_, tile_rows_, lines_at_once_, source_plane_, result_plane_;
  float *sources_ = nullptr, *results_ = nullptr;
  std::atomic<bool> finite_ = true;  // atomic: tasks clear it, and nothing else hangs on it
};

}  // namespace

bool winograd_weight(const ConvShape& s, const float* x, const float* y, float* w) {
  int64_t row_of_tiles = kPlanes * std::max(s.in_channels, s.out_channels) / s.groups * ceil_div(s.out[2], 2);
  return row_of_tiles <= kMostTiles && winograd_gains(s, s.out) && WeightWork(s, x, y, w).run();
}

}  // namespace undertow::cpu
