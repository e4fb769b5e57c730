// pool.h: kernels that reduce each window of a plane to one element, and the windows themselves.
#pragma once
#include <optional>
#include <vector>

#include "core/kernels/kernel.h"

namespace undertow::core {

// Window o of an axis contains indices first[o], first[o] + step, ... below last[o].
struct Windows {
  int64_t in = 1, step = 1;
  std::vector<int64_t> first{0}, last{1};
  int64_t out() const { return static_cast<int64_t>(first.size()); }
};

// Regular windows: window o contains o * stride - padding + k * dilation for k below `kernel`, clipped to [0, in).
struct WindowGrid {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;
};

// A plane is the last one to three dimensions of a tensor, here always padded to three, outermost first.
struct Pooling {
  Windows axis[3];
  bool regular = false;  // the windows are also described by `grid`
  WindowGrid grid[3];
  int64_t planes = 0, in_plane = 1, out_plane = 1;
  Dims sizes;  // of the result
};

// What the sum of a window is divided by: `divisor`, or the number of its elements, with or without padding.
struct AverageBy {
  bool count_include_pad;
  std::optional<int64_t> divisor;
};

// Planes of indices that point into other planes.
struct IndexGrid {
  int64_t planes, pooled, full;  // elements of a plane of indices, and of the plane they index
  Dims space;                    // the sizes of the latter, for error messages
};

// All tensors are row-major.
struct PoolKernels {
  Kernel<"avg_pool2d", void(const Tensor& out, const Tensor& in, const Pooling& p, const AverageBy& by)> average;
  // The transpose of the average.
  Kernel<"avg_pool2d", void(const Tensor& grad_input, const Tensor& grad_output, const Pooling& p, const AverageBy& by)>
      average_backward;
  // The first largest element of every window, or the last NaN, and its index in the plane, if `index` is defined.
  Kernel<"max_pool2d", void(const Tensor& out, const Tensor& index, const Tensor& in, const Pooling& p)> largest;
  // The same for windows of `kernel` elements at random positions, given by one sample per plane and dimension.
  Kernel<"fractional_max_pool2d", void(const Tensor& out, const Tensor& index, const Tensor& in, const Tensor& samples,
                                       const Pooling& p, IntSpan kernel)>
      fractional_largest;
  // out = the plane's element at each index. These three kernels raise for an index outside its plane.
  Kernel<"max_pool2d", void(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g)> gather;
  // Writes each element of `in` at its index; zeros elsewhere.
  Kernel<"max_unpool2d", void(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g)> scatter;
  // The same, but elements with the same index are added.
  Kernel<"max_pool2d", void(const Tensor& out, const Tensor& in, const Tensor& index, const IndexGrid& g)> add_at;
};

// The starts of fractional windows: spaced by a fractional stride, and shifted by the random number u.
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

}  // namespace undertow::core
