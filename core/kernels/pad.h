// pad.h: kernels that put elements around a tensor, and what padding does to one dimension.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

// What stands around: the mirror image without its edge, the edge, or the other end.
enum class PadMode : int64_t { Reflect = 0, Replicate = 1, Circular = 2 };

// One dimension: how long it is before and after, and how much is added on each side; less than nothing is cut off.
struct PadAxis {
  int64_t in, out;
  int64_t left, right;
  int64_t begin() const { return std::max<int64_t>(left, 0); }  // of the plain copy, in the output
  int64_t from() const { return std::max<int64_t>(-left, 0); }  // in the input
  int64_t inside() const { return std::max<int64_t>(in - from() - std::max<int64_t>(-right, 0), 0); }
};

// `padding` holds pairs (left, right), those of the last dimension first.
inline PadAxis pad_axis(IntSpan sizes, IntSpan padding, int64_t dim) {
  size_t k = (sizes.size() - 1 - static_cast<size_t>(dim)) * 2;
  int64_t n = sizes[static_cast<size_t>(dim)], l = k < padding.size() ? padding[k] : 0,
          r = k < padding.size() ? padding[k + 1] : 0;
  return {n, n + l + r, l, r};
}

// Everything is row-major.
struct PadKernels {
  // The last one to three dimensions, padded with elements of `in`.
  Kernel<"pad", void(const Tensor& out, const Tensor& in, IntSpan padding, PadMode mode)> indexed;
  // Its transpose: every element of grad_output added to the one that it was read from.
  Kernel<"pad", void(const Tensor& grad_input, const Tensor& grad_output, IntSpan padding, PadMode mode)>
      indexed_backward;
  // Any dimensions, padded with one value, of no dimensions.
  Kernel<"constant_pad_nd", void(const Tensor& out, const Tensor& in, IntSpan padding, const Tensor& value)> constant;
};

}  // namespace undertow
