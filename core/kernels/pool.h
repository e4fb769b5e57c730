// pool.h: kernels that make one element of each window of a plane, and the windows: which elements they hold.
#pragma once
#include <optional>
#include <vector>

#include "core/kernels/kernel.h"

namespace undertow {

// Window o of an axis holds first[o], first[o] + step, ... below last[o].
struct Windows {
  int64_t in = 1, step = 1;
  std::vector<int64_t> first{0}, last{1};
  int64_t out() const { return static_cast<int64_t>(first.size()); }
};

// Regular windows: o holds o * stride - padding + k * dilation for k below `kernel`, where that is of [0, in).
struct WindowGrid {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
};

// A plane is the last one to three dimensions of a tensor, here always three, outermost first.
struct Pooling {
  Windows axis[3];
  bool regular = false;  // the windows are those of `grid` too
  WindowGrid grid[3];
  int64_t planes = 0, in_plane = 1, out_plane = 1;
  Dims sizes;  // of the result
};

// What the sum of a window is divided by: `divisor`, or how many elements it has, those of the padding counted or not.
struct AverageBy {
  bool count_include_pad;
  std::optional<int64_t> divisor;
};

// Elements of planes that are named by an index in their plane.
struct PlaceGrid {
  int64_t planes, pooled, full;  // elements of a plane of indices, and of the plane they point into
  Dims space;                    // the sizes of the latter, for messages
};

// All tensors are row-major.
struct PoolKernels {
  Kernel<"avg_pool2d", void(const Tensor& out, const Tensor& in, const Pooling& p, const AverageBy& by)> average;
  // Its transpose.
  Kernel<"avg_pool2d", void(const Tensor& grad_input, const Tensor& grad_output, const Pooling& p, const AverageBy& by)>
      average_backward;
  // The first largest element of every window, or the last NaN, and its index in the plane.
  Kernel<"max_pool2d", void(const Tensor& out, const Tensor& index, const Tensor& in, const Pooling& p)> largest;
  // The same for windows of `kernel` elements, which the samples, one for each plane and dimension, move about.
  Kernel<"fractional_max_pool2d", void(const Tensor& out, const Tensor& index, const Tensor& in, const Tensor& samples,
                                       const Pooling& p, IntSpan kernel)>
      fractional_largest;
  // out = the plane's element at each index. These three raise for an index outside its plane.
  Kernel<"max_pool2d", void(const Tensor& out, const Tensor& in, const Tensor& index, const PlaceGrid& g)> gather;
  // The elements of `in`, each at its index; zeros elsewhere.
  Kernel<"max_unpool2d", void(const Tensor& out, const Tensor& in, const Tensor& index, const PlaceGrid& g)> place;
  // The same, and elements with one index are added.
  Kernel<"max_pool2d", void(const Tensor& out, const Tensor& in, const Tensor& index, const PlaceGrid& g)> add_at;
};

// Where fractional windows begin: about `stride` apart, where the stride is what is left over for each, moved by u.
template <class T>
void fractional_starts(Windows& w, T u, int64_t kernel, int64_t in, int64_t out) {
  w.in = in;
  w.first.resize(static_cast<size_t>(out));
  w.last.resize(static_cast<size_t>(out));
  T stride = out > 1 ? static_cast<T>(in - kernel) / static_cast<T>(out - 1) : T(0);
  for (int64_t o = 0; o < out; o++) {
    int64_t start = o == out - 1
                        ? in - kernel
                        : static_cast<int64_t>((static_cast<T>(o) + u) * stride) - static_cast<int64_t>(u * stride);
    w.first[static_cast<size_t>(o)] = start;
    w.last[static_cast<size_t>(o)] = start + kernel;
  }
}

}  // namespace undertow
