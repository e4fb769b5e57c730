// image_format.h: the memory format of results of image operators.
#pragma once
#include "core/forward/copy/copy.h"

namespace undertow::fwd {

// Converts a new row-major result to the memory format of the input.
inline Tensor in_format_of(const Tensor& result, const Tensor& self) {
  if (result.dim() != 4 || result.dim() != self.dim() || self.is_contiguous()) return result;
  MemoryFormat format = suggested_format(self);
  if (format == MemoryFormat::Contiguous || is_in_format(result, format)) return result;
  Tensor out = empty_in_format(result, result.dtype(), format);
  copy_into(out, result);
  return out;
}

}  // namespace undertow::fwd
