// conv_weight.cpp: the weight gradient of a convolution: for every tap and channel of the result, a sum over all
// outputs of all images. The taps are read in place from boxes; only y is packed. See Note [Boxes].
#include <algorithm>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/kernels/cpu/conv/conv_box.h"
#include "core/kernels/cpu/conv/conv_columns.h"
#include "core/kernels/cpu/conv/winograd.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/gemm_kernels.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

// Note [Weight Gradient Chunks]
// The sums run over boxes of outputs. The boxes are divided into chunks that depend only on the shape; each chunk has
// its own sums, which are added in the order of the chunks. So any number of threads gives the same bits. There are as
// many chunks as a large machine can use, but their sums take no more memory than kMaxSums; if the weights are too
// large for that, tasks also divide the channels of x among them, and each packs y for itself.
constexpr int64_t kTasks = 16;
constexpr int64_t kMaxSums = 1 << 19;    // elements, of all chunks together
constexpr int64_t kMinTaps = 256;        // of a task that takes only some channels of x
constexpr int64_t kChunkWork = 1 << 19;  // multiply-adds that justify a task
// Small boxes are processed together, up to this many outputs, so that sums are read and written less often.
constexpr int64_t kOutputsAtOnce = 256;

struct Sums;
struct BoxCopy;
struct PackedY;

int64_t volume(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

template <class T>
class WeightWork {
 public:
  WeightWork(const ConvShape& s, const T* x, const T* y)
      : s_(s),
        x_(x),
        y_(y),
        channels_(s.in_channels / s.groups),
        rows_(s.out_channels / s.groups),
        plan_(Axis::forwards(s, 0), Axis::forwards(s, 1), Axis::forwards(s, 2), channels_, gemm_kernels<T>().lanes,
              rows_ == 1 ? BoxPlan::kSingleChannel : BoxPlan::kManyChannels, rows_ == 1 ? gemm_kernels<T>().lanes : 1) {
    single_ = rows_ == 1;
    int64_t lanes = gemm_kernels<T>().lanes;
    width_ = single_ ? 1 : ceil_div(rows_, lanes) * lanes;
    sums_size_ = plan_.depth() * width_;
    int64_t boxes = s.batch * plan_.boxes(), work = plan_.depth() * rows_ * plan_.most_outputs();
    int64_t most = std::max<int64_t>(kMaxSums / (sums_size_ * s.groups), 1);
    chunk_ = std::max({ceil_div(boxes, std::min(kTasks, most)), kChunkWork / work, int64_t{1}});
    chunks_ = ceil_div(boxes, chunk_);
    int64_t shares =
        std::clamp<int64_t>(kTasks / (chunks_ * s.groups), 1, std::max<int64_t>(plan_.depth() / kMinTaps, 1));
    channels_at_once_ = ceil_div(channels_, shares);
    shares_ = ceil_div(channels_, channels_at_once_);
  }

  void run(T* w) {
    T* sums = Scratch<Sums>::get<T>(chunks_ * s_.groups * sums_size_);
    parallel_for(0, chunks_ * s_.groups * shares_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t share = i % shares_, group = i / shares_ % s_.groups, chunk = i / shares_ / s_.groups;
        int64_t first = share * channels_at_once_;
        add_chunk(chunk, group, first, std::min(channels_at_once_, channels_ - first),
                  sums + (chunk * s_.groups + group) * sums_size_);
      }
    });
    add_up(sums, w);
  }

 private:
  void add_chunk(int64_t chunk, int64_t group, int64_t first_channel, int64_t channels, T* sums) const {
    int64_t taps = plan_.taps(), begin = first_channel * taps, end = begin + channels * taps;
    std::fill(sums + begin * width_, sums + end * width_, T{});
    int64_t most = plan_.most_outputs(), together = std::max<int64_t>(1, kOutputsAtOnce / most);
    T* copy = Scratch<BoxCopy>::get<T>(together * plan_.size());
    T* packed = single_ ? nullptr : Scratch<PackedY>::get<T>(together * most * (width_ + gemm_kernels<T>().lanes));
    std::vector<Run> runs(static_cast<size_t>(together * plan_.most_runs(most)));
    int64_t last = std::min((chunk + 1) * chunk_, s_.batch * plan_.boxes());
    for (int64_t i = chunk * chunk_; i < last; i += single_ ? 1 : together) {
      int64_t boxes = single_ ? 1 : std::min(together, last - i), outputs = 0, run_count = 0;
      for (int64_t b = 0; b < boxes; ++b) outputs += plan_.box((i + b) % plan_.boxes()).outputs();
      const T* y = packed;
      for (int64_t b = 0, at = 0; b < boxes; ++b) {
        int64_t image = (i + b) / plan_.boxes();
        Box box = plan_.box((i + b) % plan_.boxes());
        plan_.fill(box, channels, x_ + (image * s_.in_channels + group * channels_ + first_channel) * volume(s_.in),
                   copy + b * plan_.size());
        const T* mine = y_ + (image * s_.out_channels + group * rows_) * volume(s_.out) +
                        (box.at0 * s_.out[1] + box.begin1) * s_.out[2] + box.begin2;
        if (single_)
          y = mine;
        else
          pack(mine, box.outputs(), at, outputs, packed);
        int64_t count = plan_.runs(box, 0, box.outputs(), runs.data() + run_count);
        for (int64_t r = run_count; r < run_count + count; ++r) runs[static_cast<size_t>(r)].source += b * plan_.size();
        run_count += count;
        at += box.outputs();
      }
      add_boxes(WeightTile<T>{0, copy, nullptr, runs.data(), run_count, y, 0, nullptr, width_}, outputs, begin, end,
                sums);
    }
  }

  // Packs the channels of `count` outputs into rows [at, at + count) of panels of `outputs` rows.
  void pack(const T* y, int64_t count, int64_t at, int64_t outputs, T* packed) const {
    int64_t lanes = gemm_kernels<T>().lanes, panel = gemm_kernels<T>().panel_cols;
    for (int64_t j = 0; j < rows_; j += panel) {
      int64_t columns = std::min(panel, rows_ - j), width = columns <= lanes ? lanes : panel;
      gemm_kernels<T>().pack_b(count, columns, y + j * volume(s_.out), 1, volume(s_.out),
                               packed + j * outputs + at * width);
    }
  }

  // Adds the sums of some boxes for taps [begin, end). The copies have begin's channel first.
  void add_boxes(WeightTile<T> tile, int64_t outputs, int64_t begin, int64_t end, T* sums) const {
    const ConvLoops<T>& kernel = conv_loops<T>();
    const T* packed = tile.y;
    int64_t lanes = gemm_kernels<T>().lanes, panel = gemm_kernels<T>().panel_cols;
    for (int64_t j = 0; j < rows_; j += panel) {
      if (!single_) {
        tile.y = packed + j * outputs;
        tile.vectors = std::min(panel, rows_ - j) <= lanes ? 1 : 2;
      }
      for (int64_t p = begin; p < end; p += kernel.weight_rows) {
        tile.taps = std::min(kernel.weight_rows, end - p);
        tile.offsets = plan_.offsets.data() + (p - begin);
        tile.sums = sums + p * width_ + j;
        (single_ ? kernel.weight_dots : kernel.weight_tile)(tile);
      }
    }
  }

  // Adds the chunks' sums to those of the first chunk, tap by tap, and transposes them.
  void add_up(T* sums, T* w) const {
    int64_t depth = plan_.depth(), step = s_.groups * sums_size_;
    int64_t grain = std::max<int64_t>(1, (1 << 12) / width_);  // small enough to stay in the L1 cache
    parallel_for(0, s_.groups * depth, grain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end;) {
        int64_t group = at / depth, tap = at % depth, taps = std::min(depth - tap, end - at);
        T* first = sums + at * width_;
        for (int64_t chunk = 1; chunk < chunks_; ++chunk) {
          const T* more = first + chunk * step;
          for (int64_t i = 0; i < taps * width_; ++i) first[i] += more[i];
        }
        for (int64_t o = 0; o < rows_; ++o) {
          T* to = w + (group * rows_ + o) * depth + tap;
          for (int64_t p = 0; p < taps; ++p) to[p] = first[p * width_ + o];
        }
        at += taps;
      }
    });
  }

  const ConvShape& s_;
  const T* x_;
  const T* y_;
  int64_t channels_, rows_;  // per group: channels of x, channels of y
  BoxPlan plan_;
  bool single_;
  int64_t width_, sums_size_;  // of sums: elements per tap, and per group
  int64_t chunk_, chunks_, channels_at_once_, shares_;
};

}  // namespace

template <class T>
void conv_weight(const ConvShape& shape, const T* x, const T* y, T* w) {
  int64_t size = shape.out_channels * (shape.in_channels / shape.groups) * volume(shape.kernel);
  if (size == 0) return;
  if (shape.batch * volume(shape.out) == 0) {
    std::fill_n(w, size, T{});
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (winograd_weight(shape, x, y, w)) return;
  }
  if (columns_pay_off(shape, ConvResult::Weight)) return columns_weight(shape, x, y, w);
  WeightWork<T>(shape, x, y).run(w);
}
template void conv_weight<float>(const ConvShape&, const float*, const float*, float*);
template void conv_weight<double>(const ConvShape&, const double*, const double*, double*);

}  // namespace undertow::core::cpu
