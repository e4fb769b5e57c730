// pad.h: kernels that pad a tensor, and how padding changes one dimension.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

// Padding values: the mirror image without the edge, the edge itself, or the opposite end.
enum class PadMode : int64_t { Reflect = 0, Replicate = 1, Circular = 2 };

// One dimension: its size before and after, and the padding on each side; negative padding crops.
struct PadAxis {
  int64_t in, out;
  int64_t left, right;
  int64_t begin() const { return std::max<int64_t>(left, 0); }  // of the copied elements, in the output
  int64_t from() const { return std::max<int64_t>(-left, 0); }  // in the input
  int64_t inside() const { return std::max<int64_t>(in - from() - std::max<int64_t>(-right, 0), 0); }
};

// `padding` holds pairs (left, right), starting with the last dimension.
inline PadAxis pad_axis(IntSpan sizes, IntSpan padding, int64_t dim) {
  size_t k = (sizes.size() - 1 - static_cast<size_t>(dim)) * 2;
  int64_t n = sizes[static_cast<size_t>(dim)], l = k < padding.size() ? padding[k] : 0,
          r = k < padding.size() ? padding[k + 1] : 0;
  return {n, n + l + r, l, r};
}

// All tensors are row-major.
struct PadKernels {
  // Pads the last one to three dimensions with elements of `in`.
  Kernel<"pad", void(const Tensor& out, const Tensor& in, IntSpan padding, PadMode mode), kAnyStorage> indexed;
  // The transpose: adds every element of grad_output to the element it was read from.
  Kernel<"pad", void(const Tensor& grad_input, const Tensor& grad_output, IntSpan padding, PadMode mode)>
      indexed_backward;
  // Pads any dimensions with one value, a 0-dimensional tensor.
  Kernel<"constant_pad_nd", void(const Tensor& out, const Tensor& in, IntSpan padding, const Tensor& value),
         kAnyStorage>
      constant;
};

}  // namespace undertow::core
