// conv_box.h: how a convolution reads its source: axes, boxes of outputs, and the copies of the source they work on.
// Knows geometry and movement; the arithmetic is the product's (gemm_kernels.h) and conv_loops.h's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/cpu/conv/conv.h"
#include "core/kernels/cpu/conv/conv_loops.h"

namespace undertow::cpu {

// Note [Boxes]
// A convolution, read forwards or backwards, gathers: output i along an axis, at tap t, reads source i * step +
// offset[t], and lies at first + i * stride of the result. (Backwards, a stride of s makes s such gathers for an axis,
// one for each remainder of the output's place: each has the taps that meet it, and reads every y.) Outputs are worked
// on in boxes, some 200 neighbours at a time. For each, the part of the source that it reads is copied once, with the
// padding as zeros in it, and along the last axis split by remainder of `step`: then whatever the padding, stride and
// dilation were, the outputs of a row read neighbours, at an offset that the tap alone decides, and kernels need
// neither bounds nor strides.
struct Axis {
  int64_t count;          // outputs
  int64_t first, stride;  // where they lie in the result
  int64_t step;
  std::vector<int64_t> offsets, taps;  // offset of each tap, and its place in the kernel
  int64_t source;                      // length of the source
  int64_t low = 0, span = 0;           // the least offset; from the least to the greatest, inclusive

  static Axis forwards(const ConvShape& shape, int axis);
  static Axis backwards(const ConvShape& shape, int axis, int64_t remainder);

 private:
  void close();  // computes low and span
};

// A 1x1 kernel with fewer channels than this is packed into panels, since turning results round would cost more.
constexpr int64_t kFewPixels = 320;

// Outputs [begin1, begin1 + rows) by [begin2, begin2 + cols) at `at0`.
struct Box {
  int64_t at0, begin1, rows, begin2, cols;
  int64_t outputs() const { return rows * cols; }
};

class BoxPlan {
 public:
  // Outputs of a box: enough that packed weights are read from a near cache for many of them, few enough that what is
  // made of them stays in the second. A single channel has no such worry, and copies less with more.
  static constexpr int64_t kManyChannels = 256, kSingleChannel = 2048;

  // `channels` are gathered together; `lanes` are the elements of a vector; outputs are worked on `unit` at a time.
  BoxPlan(Axis a0, Axis a1, Axis a2, int64_t channels, int64_t lanes, int64_t most_outputs, int64_t unit);

  int64_t boxes() const { return axes[0].count * boxes1_ * boxes2_; }
  Box box(int64_t index) const;
  int64_t most_outputs() const { return rows_ * cols_; }
  int64_t most_runs(int64_t panel) const {
    return rows_ + rows_ * cols_ / panel + 1;
  }  // of a box whose outputs are cut into panels
  int64_t taps() const { return taps_; }                                  // of one channel
  int64_t depth() const { return static_cast<int64_t>(offsets.size()); }  // taps of all channels
  int64_t size() const { return channels_ * channel_ + slack_; }          // elements of the copy
  int64_t channel_size() const { return channel_; }

  // Copies what `box` reads of `channels` channels of the source, whose planes lie one after the other.
  template <class T>
  void fill(const Box& box, int64_t channels, const T* source, T* copy) const;
  // The rows of outputs [begin, end) of a box, places counted from begin; returns their number.
  int64_t runs(const Box& box, int64_t begin, int64_t end, Run* out) const;
  // Where every output of a box reads, besides its tap's offset.
  void sources(const Box& box, int64_t* out) const;
  // Where tap p (of taps(), of one channel) stands in the kernel.
  int64_t kernel_place(int64_t p, const int64_t (&kernel)[3]) const;

  Axis axes[3];
  std::vector<int64_t> offsets;  // where taps, channel by channel, read in the copy

 private:
  int64_t channels_, taps_, slack_;
  int64_t rows_, cols_, boxes1_, boxes2_;
  int64_t split_, row_, slab_,
      channel_;  // elements of the copy: a remainder's part of a row, a row, one tap of axis 0, a channel
};

}  // namespace undertow::cpu
