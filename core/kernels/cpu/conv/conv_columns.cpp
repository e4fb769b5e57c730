// conv_columns.cpp: see conv_columns.h.
// build: small
#include "core/kernels/cpu/conv/conv_columns.h"

#include <algorithm>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/kernels/cpu/conv/conv_box.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/gemm.h"
#include "core/kernels/cpu/matmul/gemm_kernels.h"
#include "core/kernels/cpu/redundant_chunks.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

// kMaxPixels is for the weight of a 1x1 kernel, whose columns are the image itself.
constexpr int64_t kMaxOutputs = 512, kMaxPixels = 1024;
constexpr int64_t kMaxColumns = 1 << 21;  // elements
constexpr int64_t kMinWeights = 1 << 13;  // in a group
constexpr int64_t kMinShare = 64;         // minimum channels of y that justify computing all columns
constexpr int64_t kDepth = 512;           // taps, or rows of y, in one packed block
constexpr int64_t kRowsAtOnce = 56;       // of a task: their packed weights stay in its L2 cache

struct Copies;
struct Columns;
struct Results;
struct PackedWeights;
struct Panels;
struct Sums;

int64_t volume(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

// An element of the columns, and the element of the image it was read from.
struct Place {
  int64_t column, source;
};

template <class T>
class ColumnWork {
 public:
  explicit ColumnWork(const ConvShape& s)
      : s_(s),
        channels_(s.in_channels / s.groups),
        rows_(s.out_channels / s.groups),
        taps_(volume(s.kernel)),
        outputs_(volume(s.out)),
        width_(s.batch * outputs_),
        padded_(ceil_div(width_, gemm_kernels<T>().panel_cols) * gemm_kernels<T>().panel_cols) {}

  void forward(const T* x, const T* w, const T* bias, T* y) {
    int64_t step = std::clamp<int64_t>(kDepth / taps_, 1, channels_), block = step * taps_,
            tile_rows = even_rows(rows_), panel = gemm_kernels<T>().panel_cols;
    int64_t block_size = block * padded_ + gemm_kernels<T>().lanes;  // packing writes up to a vector past the end
    int64_t rows_at_once = std::max<int64_t>(1, kRowsAtOnce / tile_rows) * tile_rows;
    for_chunks([&](int64_t group, int64_t first, int64_t last) {
      T* panels = Scratch<Panels>::get<T>(ceil_div(channels_, step) * block_size);
      fill_columns(
          x, group, step,
          {panel, width_ % panel > 0 && width_ % panel <= gemm_kernels<T>().lanes ? gemm_kernels<T>().lanes : panel},
          [&](int64_t c) { return panels + c / step * block_size; });
      T* packed = Scratch<PackedWeights>::get<T>(rows_at_once * block);
      T* sums = Scratch<Sums>::get<T>(rows_at_once * width_);
      for (int64_t r = first; r < last; r += rows_at_once) {
        int64_t rows = std::min(rows_at_once, last - r);
        for (int64_t p = 0; p < depth(); p += block) {
          int64_t k = std::min(block, depth() - p);
          gemm_kernels<T>().pack_a(rows, k, w + (group * rows_ + r) * depth() + p, depth(), 1, tile_rows, packed);
          gemm_kernels<T>().packed({rows, width_, k, T{1}, packed, 0, 0, panels + p / block * block_size, 0, 0,
                                    p > 0 ? T{1} : T{}, sums, width_, 1},
                                   tile_rows);
        }
        for (int64_t i = 0; i < rows; ++i) scatter_row(sums + i * width_, group * rows_ + r + i, bias, y);
      }
    });
  }

  void input(const T* y, const T* w, const T* bias, T* x) {
    int64_t step = std::clamp<int64_t>(2 * kRowsAtOnce / taps_, 1, channels_), tile_rows = even_rows(step * taps_);
    T* panels = Scratch<Panels>::get<T>(rows_ * padded_);
    std::vector<Place> all = places();
    for (int64_t group = 0; group < s_.groups; ++group) {
      const T* results = gather_results(y, group, 0, rows_);
      parallel_for(0, ceil_div(rows_, kDepth), 1, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin * kDepth; r < std::min(end * kDepth, rows_); r += kDepth) {
          gemm_kernels<T>().pack_b(std::min(kDepth, rows_ - r), width_, results + r * width_, width_, 1,
                                   panels + r * padded_);
        }
      });
      parallel_for(0, ceil_div(channels_, step), 1, [&](int64_t begin, int64_t end) {
        T* packed = Scratch<PackedWeights>::get<T>(step * taps_ * kDepth);
        T* sums = Scratch<Sums>::get<T>(step * taps_ * width_);
        for (int64_t c = begin * step; c < std::min(end * step, channels_); c += step) {
          int64_t count = std::min(step, channels_ - c), rows = count * taps_;
          for (int64_t r = 0; r < rows_; r += kDepth) {
            int64_t k = std::min(kDepth, rows_ - r);
            gemm_kernels<T>().pack_a(rows, k, w + (group * rows_ + r) * depth() + c * taps_, 1, depth(), tile_rows,
                                     packed);
            gemm_kernels<T>().packed(
                {rows, width_, k, T{1}, packed, 0, 0, panels + r * padded_, 0, 0, r > 0 ? T{1} : T{}, sums, width_, 1},
                tile_rows);
          }
          for (int64_t i = 0; i < count; ++i)
            add_columns(sums + i * taps_ * width_, group * channels_ + c + i, all, bias, x);
        }
      });
    }
  }

  void weight(const T* x, const T* y, T* w) {
    int64_t step = std::clamp<int64_t>(kDepth / taps_, 1, channels_), stride = width_ + gemm_kernels<T>().lanes;
    for_chunks([&](int64_t group, int64_t first, int64_t last) {
      T* columns = Scratch<Columns>::get<T>(depth() * stride);
      fill_columns(x, group, step, {stride, stride}, [&](int64_t c) { return columns + c * taps_ * stride; });
      const T* results = gather_results(y, group, first, last);
      gemm<T>(last - first, depth(), width_, T{1}, results, width_, 1, columns, 1, stride, T{},
              w + (group * rows_ + first) * depth(), depth(), 1);
    });
  }

 private:
  int64_t depth() const { return channels_ * taps_; }
  // Register tiles of equal height.
  static int64_t even_rows(int64_t rows) { return ceil_div(rows, ceil_div(rows, gemm_kernels<T>().max_tile_rows)); }

  void scatter_row(const T* sums, int64_t channel, const T* bias, T* y) const {
    T add = bias ? bias[channel] : T{};
    for (int64_t image = 0; image < s_.batch; ++image) {
      T* to = y + (image * s_.out_channels + channel) * outputs_;
      for (int64_t i = 0; i < outputs_; ++i) to[i] = *sums++ + add;
    }
  }

  // Calls f(group, first row, last row) for chunks of the channels of y, each of which computes its own columns. See
  // Note [Redundant Preparation].
  template <class F>
  void for_chunks(F f) const {
    int64_t chunk_rows = ceil_div(rows_, max_redundant_chunks(rows_ / kMinShare)), chunks = ceil_div(rows_, chunk_rows);
    parallel_for(0, s_.groups * chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        f(i / chunks, i % chunks * chunk_rows, std::min((i % chunks + 1) * chunk_rows, rows_));
    });
  }

  // Rows [first, last) of the results of all images side by side: y itself if there is only one image.
  const T* gather_results(const T* y, int64_t group, int64_t first, int64_t last) const {
    if (s_.batch == 1) return y + (group * rows_ + first) * outputs_;
    T* results = Scratch<Results>::get<T>((last - first) * width_);
    for (int64_t r = first; r < last; ++r) {
      for (int64_t image = 0; image < s_.batch; ++image) {
        std::copy_n(y + (image * s_.out_channels + group * rows_ + r) * outputs_, outputs_,
                    results + (r - first) * width_ + image * outputs_);
      }
    }
    return results;
  }

  // The row length of a panel, and of the last panel.
  struct PanelWidth {
    int64_t each, last;
  };

  // Columns in panels, some channels at a time: the boxes of all images are copied, and packed from there. to(channel)
  // is the start of the panels of the block that begins with this channel.
  template <class F>
  void fill_columns(const T* x, int64_t group, int64_t step, PanelWidth panel, F to) const {
    BoxPlan plan(Axis::forwards(s_, 0), Axis::forwards(s_, 1), Axis::forwards(s_, 2), step, gemm_kernels<T>().lanes,
                 outputs_, 1);
    int64_t boxes = s_.batch * plan.boxes();
    std::vector<Run> runs = runs_of_panels(plan, panel.each);
    T* copies = Scratch<Copies>::get<T>(boxes * plan.size());
    for (int64_t c = 0; c < channels_; c += step) {
      int64_t count = std::min(step, channels_ - c), k = count * taps_;
      for (int64_t b = 0; b < boxes; ++b) {
        const T* image = x + (b / plan.boxes() * s_.in_channels + group * channels_ + c) * volume(s_.in);
        plan.fill(plan.box(b % plan.boxes()), count, image, copies + b * plan.size());
      }
      size_t run = 0;
      for (int64_t j = 0; j < width_; j += panel.each) {
        size_t first = run;
        while (run < runs.size() && (run == first || runs[run].at > 0)) ++run;
        int64_t width = j + panel.each < width_ ? panel.each : panel.last;
        conv_loops<T>().pack(k, copies, plan.offsets.data(), &runs[first], static_cast<int64_t>(run - first), width,
                             to(c) + j * k);
      }
    }
  }

  // The runs of all boxes of all images, split at panel boundaries; positions start at 0 in each panel.
  std::vector<Run> runs_of_panels(const BoxPlan& plan, int64_t panel) const {
    std::vector<Run> runs, own(static_cast<size_t>(plan.most_runs(plan.most_outputs())));
    int64_t at = 0;
    for (int64_t b = 0; b < s_.batch * plan.boxes(); ++b) {
      Box box = plan.box(b % plan.boxes());
      int64_t count = plan.runs(box, 0, box.outputs(), own.data());
      for (int64_t i = 0; i < count; ++i) {
        Run run = own[static_cast<size_t>(i)];
        for (int64_t done = 0; done < run.count;) {
          int64_t length = std::min(run.count - done, panel - at % panel);
          runs.push_back({at % panel, run.source + b * plan.size() + done, length});
          at += length;
          done += length;
        }
      }
    }
    return runs;
  }

  // Adds every column of a channel to the element it was read from.
  void add_columns(const T* columns, int64_t channel, const std::vector<Place>& places, const T* bias, T* x) const {
    int64_t size = volume(s_.in);
    for (int64_t image = 0; image < s_.batch; ++image, columns += outputs_) {
      T* plane = x + (image * s_.in_channels + channel) * size;
      std::fill_n(plane, size, bias ? bias[channel] : T{});
      for (const Place& p : places) plane[p.source] += columns[p.column];
    }
  }

  // Where elements of an image's columns were read, tap by tap; those in the padding are left out.
  std::vector<Place> places() const {
    std::vector<Place> all;
    all.reserve(static_cast<size_t>(taps_ * outputs_));
    for (int64_t t = 0; t < taps_; ++t) {
      for (int64_t o = 0; o < outputs_; ++o) {
        int64_t tap = t, output = o, source = 0, step = 1;
        bool inside = true;
        for (int a = 2; a >= 0; --a) {
          int64_t at = output % s_.out[a] * s_.stride[a] + tap % s_.kernel[a] * s_.dilation[a] - s_.pad[a];
          inside = inside && at >= 0 && at < s_.in[a];
          source += at * step;
          step *= s_.in[a];
          output /= s_.out[a];
          tap /= s_.kernel[a];
        }
        if (inside) all.push_back({t * width_ + o, source});
      }
    }
    return all;
  }

  const ConvShape& s_;
  // Channels of x and of y in a group; taps of a channel; outputs of an image.
  int64_t channels_, rows_, taps_, outputs_;
  int64_t width_, padded_;  // outputs of all images, without and with padding to whole panels
};

// A kernel as large as the image: images are already columns, and results rows.
struct WholeImage {
  int64_t rows, depth, image;  // channels of y and taps in a group; elements of an image
  bool fits = true;

  explicit WholeImage(const ConvShape& s)
      : rows(s.out_channels / s.groups),
        depth(s.in_channels / s.groups * volume(s.in)),
        image(s.in_channels * volume(s.in)) {
    for (int a = 0; a < 3; ++a)
      fits =
          fits && s.out[a] == 1 && s.kernel[a] == s.in[a] && s.pad[a] == 0 && (s.dilation[a] == 1 || s.kernel[a] == 1);
  }
  explicit operator bool() const { return fits; }
};

}  // namespace

bool columns_pay_off(const ConvShape& s, ConvResult result) {
  int64_t outputs = s.batch * volume(s.out), depth = s.in_channels / s.groups * volume(s.kernel),
          rows = s.out_channels / s.groups;
  int64_t most = result == ConvResult::Weight && volume(s.kernel) == 1 ? kMaxPixels : kMaxOutputs;
  if (outputs == 0 || outputs > most || depth * rows < kMinWeights || depth * outputs > kMaxColumns) return false;
  if (result == ConvResult::Weight || WholeImage(s)) return true;
  if (result == ConvResult::Image && volume(s.stride) > 1) return true;
  // Boxes are divided, image by image, into tiles of outputs, or into vectors if they have few taps; columns are
  // divided into vectors across all images.
  int64_t tile = 14, vector = 16, each = volume(s.out);
  int64_t in_tiles = each / tile * tile + ceil_div(each % tile, tile / 2) * tile / 2;
  if (volume(s.kernel) == 1 && depth < kFewPixels) {
    if (outputs <= BoxPlan::kManyChannels && s.batch < 4) return true;  // too few boxes for the threads
    in_tiles = ceil_div(each, vector) * vector;
  }
  return s.batch * in_tiles * 8 > ceil_div(outputs, vector) * vector * 9;
}

template <class T>
void columns_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y) {
  WholeImage whole(shape);
  if (!whole) return ColumnWork<T>(shape).forward(x, w, bias, y);
  for (int64_t i = 0; i < shape.batch * shape.out_channels; ++i) y[i] = bias ? bias[i % shape.out_channels] : T{};
  for (int64_t g = 0; g < shape.groups; ++g) {
    gemm<T>(whole.rows, shape.batch, whole.depth, T{1}, w + g * whole.rows * whole.depth, whole.depth, 1,
            x + g * whole.depth, 1, whole.image, T{1}, y + g * whole.rows, 1, shape.out_channels);
  }
}
template <class T>
void columns_input(const ConvShape& shape, const T* y, const T* w, const T* bias, T* x) {
  WholeImage whole(shape);
  if (!whole) return ColumnWork<T>(shape).input(y, w, bias, x);
  int64_t pixels = volume(shape.in);
  for (int64_t i = 0; bias && i < shape.batch * shape.in_channels; ++i)
    std::fill_n(x + i * pixels, pixels, bias[i % shape.in_channels]);
  for (int64_t g = 0; g < shape.groups; ++g) {
    gemm<T>(shape.batch, whole.depth, whole.rows, T{1}, y + g * whole.rows, shape.out_channels, 1,
            w + g * whole.rows * whole.depth, whole.depth, 1, bias ? T{1} : T{}, x + g * whole.depth, whole.image, 1);
  }
}
template <class T>
void columns_weight(const ConvShape& shape, const T* x, const T* y, T* w) {
  WholeImage whole(shape);
  if (!whole) return ColumnWork<T>(shape).weight(x, y, w);
  for (int64_t g = 0; g < shape.groups; ++g) {
    gemm<T>(whole.rows, whole.depth, shape.batch, T{1}, y + g * whole.rows, 1, shape.out_channels, x + g * whole.depth,
            whole.image, 1, T{}, w + g * whole.rows * whole.depth, whole.depth, 1);
  }
}
template void columns_forward<float>(const ConvShape&, const float*, const float*, const float*, float*);
template void columns_forward<double>(const ConvShape&, const double*, const double*, const double*, double*);
template void columns_input<float>(const ConvShape&, const float*, const float*, const float*, float*);
template void columns_input<double>(const ConvShape&, const double*, const double*, const double*, double*);
template void columns_weight<float>(const ConvShape&, const float*, const float*, float*);
template void columns_weight<double>(const ConvShape&, const double*, const double*, double*);

}  // namespace undertow::core::cpu
