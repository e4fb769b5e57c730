// conv_gather.cpp: a convolution and its input gradient, both as products of packed weights with panels packed directly
// from boxes of the source; the columns of im2col are never stored. See Note [Boxes].
// build: small
#include <algorithm>
#include <type_traits>

#include "core/base/ceil_div.h"
#include "core/base/parallel.h"
#include "core/base/small_vector.h"
#include "core/kernels/cpu/conv/conv_box.h"
#include "core/kernels/cpu/conv/conv_columns.h"
#include "core/kernels/cpu/conv/winograd.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/matmul/gemm_kernels.h"
#include "core/kernels/cpu/redundant_chunks.h"
#include "core/kernels/cpu/scratch.h"

namespace undertow::core::cpu {
namespace {

// Taps in one packed block, as in gemm.cpp; and rows of weights that are multiplied with a box before the next rows.
template <class T>
constexpr int64_t kDepth = 2048 / static_cast<int64_t>(sizeof(T));
constexpr int64_t kWeightRows = 168;
// With fewer taps than this, outputs are packed into panels: transposing the results would take as long as the sums.
constexpr int64_t kFewTaps = 40;
// Maximum elements of boxes that are copied all at once; and the minimum number of channel panels to distribute then.
constexpr int64_t kMaxCopies = 1 << 20, kMinPanels = 4;
// Multiply-adds that justify a chunk.
constexpr int64_t kChunkWork = 1 << 19;

struct WeightRows;
struct PackedWeights;
struct BoxCopy;
struct PackedBox;
struct BoxResult;
struct TransposedTaps;
struct AllBoxes;
struct PackedPanel;

// How a gather is computed, depending on its shape.
enum class GatherMethod {
  Direct,   // a single row of weights: vectors of outputs
  Outputs,  // many channels: vectors of channels; outputs read the box in place
  Panels,   // vectors of outputs, packed
};

// For m channels of the result from the given numbers of taps and channels.
template <class T>
GatherMethod method_of(int64_t m, int64_t taps, int64_t channels) {
  if (std::is_integral_v<T>) return GatherMethod::Panels;
  if (m == 1) return GatherMethod::Direct;
  int64_t lanes = gemm_kernels<T>().lanes, whole = ceil_div(m, lanes) * lanes;
  return taps * channels >= (taps == 1 ? kFewPixels : kFewTaps) && whole - m <= m / 8 ? GatherMethod::Outputs
                                                                                      : GatherMethod::Panels;
}

// `images`: how many times the plan is used. Boxes are smaller if there would be too few for the cores of a large
// machine.
template <class T>
BoxPlan plan_of(Axis a0, Axis a1, Axis a2, int64_t channels, int64_t m, int64_t images) {
  int64_t taps = static_cast<int64_t>(a0.offsets.size() * a1.offsets.size() * a2.offsets.size());
  int64_t outputs = a1.count * a2.count, most = m == 1 ? BoxPlan::kSingleChannel : BoxPlan::kManyChannels;
  const int64_t enough = enough_chunks(6);
  while (images * a0.count * ceil_div(outputs, most) < enough && most * taps * channels * m > 4 * kChunkWork) most /= 2;
  GatherMethod method = method_of<T>(m, taps, channels);
  return BoxPlan(std::move(a0), std::move(a1), std::move(a2), channels, gemm_kernels<T>().lanes, most,
                 method == GatherMethod::Outputs ? gemm_kernels<T>().max_tile_rows : gemm_kernels<T>().lanes);
}

// One gather for all images and groups: `m` channels of the result from plan.depth() taps, in each group.
template <class T>
struct Gather {
  const BoxPlan& plan;
  int64_t batch, groups, m;
  const T* source;
  int64_t source_image, source_group;  // strides in elements
  // Of group 0: (row, channel, kernel index) is at row * weight_row + channel * weight_channel + index.
  const T* weights;
  int64_t weight_group, weight_row, weight_channel;
  const int64_t (&kernel)[3];
  const T* bias;
  T* result;
  int64_t result_image, result_plane;  // result_plane: the stride of a channel
  int64_t result_row, result_slab;     // strides of axis 1 and axis 0

  int64_t depth() const { return plan.depth(); }
  // The bias is one more tap, which reads the constant one.
  int64_t full_depth() const { return depth() + (bias ? 1 : 0); }
  bool contiguous_rows() const { return plan.axes[1].stride == 1 && plan.axes[2].stride == 1; }
  int64_t place(const Box& b) const {
    const Axis &a0 = plan.axes[0], &a1 = plan.axes[1], &a2 = plan.axes[2];
    return (a0.first + b.at0 * a0.stride) * result_slab + (a1.first + b.begin1 * a1.stride) * result_row + a2.first +
           b.begin2 * a2.stride;
  }
};

// Are the weights already stored as rows of taps, in the plan's order?
template <class T>
bool natural_weights(const Gather<T>& g) {
  int64_t taps = g.plan.taps();
  return g.weight_row == g.depth() && g.weight_channel == taps && taps == g.kernel[0] * g.kernel[1] * g.kernel[2];
}

// The weights of one group as such rows: in place, or a copy.
template <class T>
const T* weight_rows(const Gather<T>& g, int64_t group, T* copy) {
  const T* w = g.weights + group * g.weight_group;
  int64_t taps = g.plan.taps(), channels = taps ? g.depth() / taps : 0;
  if (natural_weights(g)) return w;
  SmallVector<int64_t, 32> places(static_cast<size_t>(taps));
  for (int64_t p = 0; p < taps; ++p) places[static_cast<size_t>(p)] = g.plan.kernel_index(p, g.kernel);
  parallel_for(0, g.m, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(g.depth(), 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   for (int64_t c = 0; c < channels; ++c) {
                     const T* from = w + i * g.weight_row + c * g.weight_channel;
                     T* to = copy + i * g.depth() + c * taps;
                     for (int64_t p = 0; p < taps; ++p) to[p] = from[places[static_cast<size_t>(p)]];
                   }
                 }
               });
  return copy;
}

// The same for GatherMethod::Outputs: the panel of channels from `row` on, one row of channels per tap.
template <class T>
void pack_channels(const Gather<T>& g, int64_t group, int64_t row, T* packed) {
  const T* w = g.weights + group * g.weight_group + row * g.weight_row;
  int64_t depth = g.depth(), taps = g.plan.taps(), panel = gemm_kernels<T>().panel_cols,
          lanes = gemm_kernels<T>().lanes;
  int64_t rows = std::min(panel, g.m - row), width = rows <= lanes ? lanes : panel,
          kernel = g.kernel[0] * g.kernel[1] * g.kernel[2];
  if (natural_weights(g)) return gemm_kernels<T>().pack_b(depth, rows, w, 1, depth, packed);
  if (kernel == 1) return gemm_kernels<T>().pack_b(depth, rows, w, g.weight_channel, g.weight_row, packed);
  // For each channel, all taps of the kernel are transposed, and those of this gather copied.
  T* transposed = Scratch<TransposedTaps>::get<T>(kernel * panel);
  for (int64_t c = 0; c < depth / taps; ++c) {
    gemm_kernels<T>().pack_b(kernel, rows, w + c * g.weight_channel, 1, g.weight_row, transposed);
    for (int64_t p = 0; p < taps; ++p, packed += width)
      std::copy_n(transposed + g.plan.kernel_index(p, g.kernel) * width, width, packed);
  }
}

// Panels of Note [Packed Panels] for blocks of taps: block by block; the block of tap p begins at p * m.
template <class T>
void pack_weights(const Gather<T>& g, int64_t group, const T* rows, int64_t block, int64_t tile_rows, T* packed) {
  int64_t full = g.full_depth(), blocks = ceil_div(full, block);
  parallel_for(0, blocks, std::max<int64_t>(1, (1 << 15) / (block * g.m)), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin * block; p < std::min(end * block, full); p += block) {
      int64_t k = std::min(block, full - p), taps = std::min(k, g.depth() - p);
      for (int64_t i = 0; i < g.m; i += tile_rows) {
        int64_t height = std::min(tile_rows, g.m - i);
        T* panel = packed + p * g.m + i * k;
        gemm_kernels<T>().pack_a(height, taps, rows + i * g.depth() + p, g.depth(), 1, height, panel);
        if (taps < k) std::copy_n(g.bias + group * g.m + i, height, panel + taps * height);
      }
    }
  });
}

// Writes some rows of a box's outputs, contiguous in `from`, to their positions in the result.
template <class T>
void scatter(const Gather<T>& g, const Box& box, int64_t rows, const T* from, T* result) {
  int64_t step1 = g.plan.axes[1].stride * g.result_row, step2 = g.plan.axes[2].stride;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t r = 0; r < box.rows; ++r, from += box.cols) {
      T* to = result + i * g.result_plane + r * step1;
      conv_loops<T>().spread_row(box.cols, from, step2, to);
    }
  }
}

// One box of one group of one image.
template <class T>
class BoxWork {
 public:
  BoxWork(const Gather<T>& g, int64_t block, int64_t tile_rows)
      : g_(g),
        block_(block),
        tile_rows_(tile_rows),
        panel_(gemm_kernels<T>().panel_cols),
        copy_(Scratch<BoxCopy>::get<T>(g.plan.size())),
        runs_(static_cast<size_t>(g.plan.most_runs(panel_))) {
    if (!g.contiguous_rows()) own_result_ = Scratch<BoxResult>::get<T>(g.m * g.plan.most_outputs());
  }

  void multiply(int64_t image, int64_t group, const Box& box, const T* packed_weights) {
    T* result = begin(image, group, box);
    int64_t outputs = box.outputs(), full = g_.full_depth();
    T* packed = Scratch<PackedBox>::get<T>(ceil_div(outputs, panel_) * panel_ * block_ + 2 * panel_);
    find_runs(box, panel_);
    for (int64_t p = 0; p < full; p += block_) {
      int64_t k = std::min(block_, full - p);
      pack(outputs, p, k, packed);
      for (int64_t i = 0; i < g_.m; i += rows_at_once()) {
        int64_t rows = std::min(rows_at_once(), g_.m - i);
        T beta = p > 0 ? T{1} : T{0};
        Product<T> part{rows,   outputs, k, T{1}, packed_weights + p * g_.m + i * k, 0,          0,
                        packed, 0,       0, beta, result + i * result_rs_,           result_rs_, 1};
        gemm_kernels<T>().packed(part, tile_rows_);
      }
    }
    end(image, group, box);
  }

  // For weights packed by channels: the box is read in place. `bias` has one element per channel, padded with zeros.
  void outputs(int64_t image, int64_t group, const Box& box, const T* packed_weights, const T* bias) {
    if constexpr (!std::is_integral_v<T>) {
      T* result = begin(image, group, box);
      sources_.resize(static_cast<size_t>(box.outputs()));
      g_.plan.sources(box, sources_.data());
      for (int64_t c = 0; c < g_.m; c += panel_) {
        conv_loops<T>().outputs({g_.depth(), box.outputs(), std::min(panel_, g_.m - c), copy_, g_.plan.offsets.data(),
                                 sources_.data(), packed_weights + c * g_.depth(), bias + c, result + c * result_rs_,
                                 result_rs_});
      }
      end(image, group, box);
    }
  }

  // For a single row of weights.
  void direct(int64_t image, int64_t group, const Box& box, const T* weights) {
    if constexpr (!std::is_integral_v<T>) {
      T* result = begin(image, group, box);
      find_runs(box, box.outputs());
      conv_loops<T>().direct(g_.depth(), weights, copy_, g_.plan.offsets.data(), runs_.data(), first_run_[1],
                             g_.bias ? g_.bias[group] : T{}, result);
      end(image, group, box);
    }
  }

 private:
  int64_t rows_at_once() const { return std::max<int64_t>(kWeightRows / tile_rows_, 1) * tile_rows_; }

  T* result_of(int64_t image, int64_t group, const Box& box) const {
    return g_.result + image * g_.result_image + group * g_.m * g_.result_plane + g_.place(box);
  }

  T* begin(int64_t image, int64_t group, const Box& box) {
    int64_t channels = g_.depth() / g_.plan.taps();
    g_.plan.fill(box, channels, g_.source + image * g_.source_image + group * g_.source_group, copy_);
    result_rs_ = own_result_ ? box.outputs() : g_.result_plane;
    return own_result_ ? own_result_ : result_of(image, group, box);
  }

  void end(int64_t image, int64_t group, const Box& box) const {
    if (own_result_) scatter(g_, box, g_.m, own_result_, result_of(image, group, box));
  }

  // The runs of every `width` outputs; those of panel i begin at first_run_[i].
  void find_runs(const Box& box, int64_t width) {
    if (!first_run_.empty() && box.rows == rows_ && box.cols == cols_) return;  // same as the previous box
    rows_ = box.rows;
    cols_ = box.cols;
    first_run_.clear();
    int64_t count = 0;
    for (int64_t at = 0; at < box.outputs(); at += width) {
      first_run_.push_back(count);
      count += g_.plan.runs(box, at, std::min(at + width, box.outputs()), runs_.data() + count);
    }
    first_run_.push_back(count);
  }

  void pack(int64_t outputs, int64_t p, int64_t k, T* packed) const {
    int64_t taps = std::min(k, g_.depth() - p), lanes = gemm_kernels<T>().lanes;
    for (int64_t j = 0, i = 0; j < outputs; j += panel_, ++i) {
      int64_t width = std::min(panel_, outputs - j) <= lanes ? lanes : panel_;
      size_t first = static_cast<size_t>(first_run_[static_cast<size_t>(i)]);
      conv_loops<T>().pack(taps, copy_, g_.plan.offsets.data() + p, &runs_[first],
                           first_run_[static_cast<size_t>(i) + 1] - first_run_[static_cast<size_t>(i)], width,
                           packed + j * k);
      if (taps < k) std::fill_n(packed + j * k + taps * width, width, T{1});
    }
  }

  const Gather<T>& g_;
  int64_t block_, tile_rows_, panel_;
  T* copy_;
  T* own_result_ = nullptr;
  int64_t result_rs_ = 0, rows_ = 0, cols_ = 0;
  std::vector<Run> runs_;
  std::vector<int64_t> first_run_, sources_;
};

// No taps: the result is the bias or zero.
template <class T>
void fill_with_bias(const Gather<T>& g) {
  const Axis &a1 = g.plan.axes[1], &a2 = g.plan.axes[2];
  int64_t channels = g.groups * g.m, outputs = g.plan.axes[0].count * a1.count * a2.count;
  parallel_for(0, g.batch * channels, std::max<int64_t>(1, (1 << 14) / outputs), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      T* plane = g.result + c / channels * g.result_image + c % channels * g.result_plane;
      T value = g.bias ? g.bias[c % channels] : T{};
      for (int64_t i = 0; i < g.plan.boxes(); ++i) {
        Box b = g.plan.box(i);
        T* at = plane + g.place(b);
        for (int64_t r = 0; r < b.rows; ++r) {
          for (int64_t j = 0; j < b.cols; ++j) at[r * a1.stride * g.result_row + j * a2.stride] = value;
        }
      }
    }
  });
}

// With few outputs, packing all weights costs more than copying all boxes.
template <class T>
bool more_weights_than_boxes(const Gather<T>& g) {
  int64_t copies = g.batch * g.plan.boxes() * g.plan.size();
  return copies <= kMaxCopies && copies <= g.m * g.depth() && g.m >= kMinPanels * gemm_kernels<T>().panel_cols;
}

// For few outputs: every task copies all boxes, and packs its own weights one panel at a time, so that the panel never
// leaves its L2 cache. See Note [Redundant Preparation].
template <class T>
void run_by_channels(const Gather<T>& g) {
  int64_t boxes = g.plan.boxes(), all = g.batch * boxes, size = g.plan.size(), panel = gemm_kernels<T>().panel_cols,
          most = g.plan.most_outputs();
  int64_t panels = ceil_div(g.m, panel), share = ceil_div(panels, max_redundant_chunks(panels)) * panel,
          shares = ceil_div(g.m, share);
  parallel_for(0, g.groups * shares, 1, [&](int64_t begin, int64_t end) {
    T* copies = Scratch<AllBoxes>::get<T>(all * size);
    T* packed = Scratch<PackedPanel>::get<T>(panel * g.depth());
    T* own_result = g.contiguous_rows() ? nullptr : Scratch<BoxResult>::get<T>(panel * most);
    std::vector<T> bias(static_cast<size_t>(panel));
    std::vector<int64_t> sources(static_cast<size_t>(most));
    for (int64_t task = begin; task < end; ++task) {
      int64_t group = task / shares, first = task % shares * share;
      for (int64_t i = 0; i < all; ++i) {
        g.plan.fill(g.plan.box(i % boxes), g.depth() / g.plan.taps(),
                    g.source + i / boxes * g.source_image + group * g.source_group, copies + i * size);
      }
      for (int64_t c = first; c < std::min(first + share, g.m); c += panel) {
        int64_t rows = std::min(panel, g.m - c);
        pack_channels(g, group, c, packed);
        if (g.bias) std::copy_n(g.bias + group * g.m + c, rows, bias.data());
        for (int64_t i = 0; i < all; ++i) {
          Box box = g.plan.box(i % boxes);
          g.plan.sources(box, sources.data());
          T* to = g.result + i / boxes * g.result_image + (group * g.m + c) * g.result_plane + g.place(box);
          conv_loops<T>().outputs({g.depth(), box.outputs(), rows, copies + i * size, g.plan.offsets.data(),
                                   sources.data(), packed, bias.data(), own_result ? own_result : to,
                                   own_result ? box.outputs() : g.result_plane});
          if (own_result) scatter(g, box, rows, own_result, to);
        }
      }
    }
  });
}

template <class T>
void run(const Gather<T>& g) {
  int64_t boxes = g.plan.boxes();
  if (boxes == 0 || g.m == 0) return;
  if (g.depth() == 0) return fill_with_bias(g);
  GatherMethod method = method_of<T>(g.m, g.plan.taps(), g.depth() / g.plan.taps());
  if constexpr (!std::is_integral_v<T>) {
    if (method == GatherMethod::Outputs && more_weights_than_boxes(g)) return run_by_channels(g);
  }
  int64_t full = g.full_depth(), block = ceil_div(full, ceil_div(full, kDepth<T>));
  int64_t most = gemm_kernels<T>().max_tile_rows, tile_rows = ceil_div(g.m, ceil_div(g.m, most)),
          panel = gemm_kernels<T>().panel_cols;
  int64_t width = ceil_div(g.m, panel) * panel;  // channels of a group, padded with zeros
  int64_t packed_size = method == GatherMethod::Outputs ? width * g.depth() : g.m * full;
  T* copies = method == GatherMethod::Outputs ? nullptr : Scratch<WeightRows>::get<T>(g.groups * g.m * g.depth());
  T* packed =
      method == GatherMethod::Direct ? nullptr : Scratch<PackedWeights>::get<T>(g.groups * (packed_size + width));
  T* bias = packed + g.groups * packed_size;
  SmallVector<const T*, 8> rows;
  for (int64_t group = 0; group < g.groups; ++group) {
    T* to = packed + group * packed_size;
    if (method != GatherMethod::Outputs) {
      rows.push_back(weight_rows(g, group, copies + group * g.m * g.depth()));
      if (method == GatherMethod::Panels) pack_weights(g, group, rows.back(), block, tile_rows, to);
      continue;
    }
    parallel_for(0, ceil_div(g.m, panel), std::max<int64_t>(1, (1 << 15) / (panel * g.depth())),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin * panel; i < std::min(end * panel, g.m); i += panel)
                     pack_channels(g, group, i, to + i * g.depth());
                 });
    std::fill_n(bias + group * width, width, T{});
    if (g.bias) std::copy_n(g.bias + group * g.m, g.m, bias + group * width);
  }
  int64_t work = g.m * full * g.plan.most_outputs();
  parallel_for(0, g.batch * g.groups * boxes, std::max<int64_t>(1, kChunkWork / 4 / work),
               [&](int64_t begin, int64_t end) {
                 BoxWork<T> box_work(g, block, tile_rows);
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t image = i / boxes / g.groups, group = i / boxes % g.groups;
                   Box box = g.plan.box(i % boxes);
                   if (method == GatherMethod::Direct) {
                     box_work.direct(image, group, box, rows[static_cast<size_t>(group)]);
                   } else if (method == GatherMethod::Outputs) {
                     box_work.outputs(image, group, box, packed + group * packed_size, bias + group * width);
                   } else {
                     box_work.multiply(image, group, box, packed + group * packed_size);
                   }
                 }
               });
}

int64_t volume(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

template <class T>
void forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  int64_t channels = s.in_channels / s.groups, m = s.out_channels / s.groups, taps = volume(s.kernel);
  BoxPlan plan =
      plan_of<T>(Axis::forwards(s, 0), Axis::forwards(s, 1), Axis::forwards(s, 2), channels, m, s.batch * s.groups);
  run(Gather<T>{plan, s.batch, s.groups, m, x, s.in_channels * volume(s.in), channels * volume(s.in), w,
                m * channels * taps, channels * taps, taps, s.kernel, bias, y, s.out_channels * volume(s.out),
                volume(s.out), s.out[2], s.out[1] * s.out[2]});
}

template <class T>
void backward(const ConvShape& s, const T* y, const T* w, const T* bias, T* x) {
  int64_t channels = s.out_channels / s.groups, m = s.in_channels / s.groups, taps = volume(s.kernel);
  for (int64_t r0 = 0; r0 < std::min(s.stride[0], s.in[0]); ++r0) {
    for (int64_t r1 = 0; r1 < std::min(s.stride[1], s.in[1]); ++r1) {
      for (int64_t r2 = 0; r2 < std::min(s.stride[2], s.in[2]); ++r2) {
        BoxPlan plan = plan_of<T>(Axis::backwards(s, 0, r0), Axis::backwards(s, 1, r1), Axis::backwards(s, 2, r2),
                                  channels, m, s.batch * s.groups);
        run(Gather<T>{plan, s.batch, s.groups, m, y, s.out_channels * volume(s.out), channels * volume(s.out), w,
                      channels * m * taps, taps, m * taps, s.kernel, bias, x, s.in_channels * volume(s.in),
                      volume(s.in), s.in[2], s.in[1] * s.in[2]});
      }
    }
  }
}

// Integers wrap around, and the low bits of a product are the same for signed and unsigned.
template <class T>
using Element = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
template <class T>
auto* as_element(T* p) {
  using E = Element<std::remove_const_t<T>>;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const E, E>*>(p);
}

}  // namespace

template <class T>
void conv_forward(const ConvShape& shape, const T* x, const T* w, const T* bias, T* y) {
  if constexpr (std::is_same_v<T, float>) {
    if (winograd_forward(shape, x, w, bias, y)) return;
  }
  if constexpr (!std::is_integral_v<T>) {
    if (columns_pay_off(shape, ConvResult::Output)) return columns_forward(shape, x, w, bias, y);
  }
  forward(shape, as_element(x), as_element(w), as_element(bias), as_element(y));
}
template <class T>
void conv_input(const ConvShape& shape, const T* y, const T* w, const T* bias, T* x) {
  if constexpr (std::is_same_v<T, float>) {
    if (winograd_input(shape, y, w, bias, x)) return;
  }
  if constexpr (!std::is_integral_v<T>) {
    if (columns_pay_off(shape, ConvResult::Image)) return columns_input(shape, y, w, bias, x);
  }
  backward(shape, as_element(y), as_element(w), as_element(bias), as_element(x));
}
template void conv_forward<float>(const ConvShape&, const float*, const float*, const float*, float*);
template void conv_forward<double>(const ConvShape&, const double*, const double*, const double*, double*);
template void conv_forward<int64_t>(const ConvShape&, const int64_t*, const int64_t*, const int64_t*, int64_t*);
template void conv_input<float>(const ConvShape&, const float*, const float*, const float*, float*);
template void conv_input<double>(const ConvShape&, const double*, const double*, const double*, double*);
template void conv_input<int64_t>(const ConvShape&, const int64_t*, const int64_t*, const int64_t*, int64_t*);

}  // namespace undertow::core::cpu
