// planes.h: what operators on images share: an image is its leading dimensions (planes) times one to three of space.
// Planes are independent of each other, so work is cut between them and inside a plane done in one order.
#pragma once
#include "core/forward/copy/copy.h"

namespace undertow::fwd {

// Planes a chunk, so that a chunk is worth a thread.
inline int64_t plane_grain(int64_t plane_size) {
  return std::max<int64_t>(1, (16 << 10) / std::max<int64_t>(plane_size, 1));
}
// What half types are computed in.
inline DType wide_dtype(DType t) { return is_reduced_float(t) ? DType::Float32 : t; }
// A fresh row-major result, in the memory format of the input it was made from.
inline Tensor in_format_of(const Tensor& result, const Tensor& self) {
  if (result.dim() != 4 || result.dim() != self.dim() || self.is_contiguous()) return result;
  MemoryFormat format = suggested_format(self);
  if (format == MemoryFormat::Contiguous || is_in_format(result, format)) return result;
  Tensor out = empty_in_format(result, result.dtype(), format);
  copy_into(out, result);
  return out;
}

}  // namespace undertow::fwd
