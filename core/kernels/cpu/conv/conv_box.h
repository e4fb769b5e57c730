// conv_box.h: how a convolution reads its source: axes, boxes of outputs, and the copies of the source they read.
// Knows geometry and data movement; the arithmetic is in the matrix product (gemm_kernels.h) and conv_loops.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/cpu/conv/conv.h"
#include "core/kernels/cpu/conv/conv_loops.h"

namespace undertow::core::cpu {

// Note [Boxes]
// A convolution, forward or backward, is a gather: along an axis, output i at tap t reads source i * step + offset[t],
// and is stored at first + i * stride of the result. (Backward, a stride of s gives s such gathers per axis, one for
// each remainder of the output's position: each has the taps that contribute to it, and reads every y.) Outputs are
// processed in boxes of about 200 neighbours. For each box, the region of the source that it reads is copied once, with
// the padding filled with zeros, and split by remainder modulo `step` along the last axis. Then, whatever the padding,
// stride and dilation, the outputs of a row read neighbouring elements at an offset that depends only on the tap, and
// kernels need neither bounds nor strides.
struct Axis {
  int64_t count;          // outputs
  int64_t first, stride;  // their positions in the result
  int64_t step;
  std::vector<int64_t> offsets, taps;  // the offset of each tap, and its index in the kernel
  int64_t source;                      // length of the source
  int64_t low = 0, span = 0;           // the least offset; the range from the least to the greatest, inclusive

  static Axis forwards(const ConvShape& shape, int axis);
  static Axis backwards(const ConvShape& shape, int axis, int64_t remainder);

 private:
  void close();  // computes low and span
};

// A 1x1 kernel with fewer channels than this is packed into panels, since transposing the results would cost more.
constexpr int64_t kFewPixels = 320;

// Outputs [begin1, begin1 + rows) by [begin2, begin2 + cols) at `at0`.
struct Box {
  int64_t at0, begin1, rows, begin2, cols;
  int64_t outputs() const { return rows * cols; }
};

class BoxPlan {
 public:
  // Maximum outputs of a box: enough that each packed weight read from a near cache is used for many of them, few
  // enough that their intermediate data stays in the L2 cache. A single channel has no such limit, and copies less with
  // larger boxes.
  static constexpr int64_t kManyChannels = 256, kSingleChannel = 2048;

  // `channels` are gathered together; `lanes` is the number of elements in a vector; outputs are processed `unit` at a
  // time.
  BoxPlan(Axis a0, Axis a1, Axis a2, int64_t channels, int64_t lanes, int64_t most_outputs, int64_t unit);

  int64_t boxes() const { return axes[0].count * boxes1_ * boxes2_; }
  Box box(int64_t index) const;
  int64_t most_outputs() const { return rows_ * cols_; }
  // For a box whose outputs are divided into panels.
  int64_t most_runs(int64_t panel) const { return rows_ + rows_ * cols_ / panel + 1; }
  int64_t taps() const { return taps_; }                                  // of one channel
  int64_t depth() const { return static_cast<int64_t>(offsets.size()); }  // taps of all channels
  int64_t size() const { return channels_ * channel_ + slack_; }          // elements of the copy
  int64_t channel_size() const { return channel_; }

  // Copies what `box` reads of `channels` channels of the source, whose planes are contiguous.
  template <class T>
  void fill(const Box& box, int64_t channels, const T* source, T* copy) const;
  // The rows of outputs [begin, end) of a box, with positions counted from begin; returns the number of rows.
  int64_t runs(const Box& box, int64_t begin, int64_t end, Run* out) const;
  // Where every output of a box reads, without its tap's offset.
  void sources(const Box& box, int64_t* out) const;
  // The index of tap p (of taps(), of one channel) in the kernel.
  int64_t kernel_index(int64_t p, const int64_t (&kernel)[3]) const;

  Axis axes[3];
  std::vector<int64_t> offsets;  // where taps, channel by channel, read in the copy

 private:
  int64_t channels_, taps_, slack_;
  int64_t rows_, cols_, boxes1_, boxes2_;
  // Strides in the copy, in elements: one remainder of a row, a row, one tap of axis 0, a channel.
  int64_t split_, row_, slab_, channel_;
};

}  // namespace undertow::core::cpu
