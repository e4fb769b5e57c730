// image_format.h: the memory format of results of image operators.
#pragma once
#include "core/forward/copy/copy.h"

namespace undertow::core::fwd {

// Converts a new row-major result to the memory format of the input, if it is a batch of `dims` dimensions: 4 for
// pictures, 5 for volumes. A single picture or volume has no format.
inline Tensor in_format_of(const Tensor& result, const Tensor& self, int64_t dims) {
  if (result.dim() != dims || self.dim() != dims || self.is_contiguous()) return result;
  MemoryFormat format = suggested_format(self);
  if (format == MemoryFormat::Contiguous) return result;
  Tensor out = empty_in_format(result, result.dtype(), format);
  copy_into(out, result);
  return out;
}

// True if the result of a convolution and its gradients are channels-last, as in torch: if the input or the weight is.
// Of one-dimensional convolutions the weight alone decides; three-dimensional ones of 64 bits are always row-major.
inline bool convolves_channels_last(IntSpan input, IntSpan input_strides, IntSpan weight, IntSpan weight_strides,
                                    DType dtype) {
  if (weight.size() == 3) {  // seen as pictures of height 1
    Dims sizes{weight[0], weight[1], 1, weight[2]};
    Dims strides{weight_strides[0], weight_strides[1], weight[2] * weight_strides[2], weight_strides[2]};
    return suggested_format(sizes, strides) != MemoryFormat::Contiguous;
  }
  if (weight.size() == 5 && itemsize(dtype) > 4) return false;
  return suggested_format(input, input_strides) != MemoryFormat::Contiguous ||
         suggested_format(weight, weight_strides) != MemoryFormat::Contiguous;
}

}  // namespace undertow::core::fwd
