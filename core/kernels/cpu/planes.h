// planes.h: what kernels on images share: an image is its leading dimensions (planes) times one to three of space.
// Planes are independent of each other, so work is cut between them and inside a plane done in one order.
#pragma once
#include <algorithm>

#include "core/tensor/dtype.h"

namespace undertow::cpu {

// Planes a chunk, so that a chunk is worth a thread.
inline int64_t plane_grain(int64_t plane_size) {
  return std::max<int64_t>(1, (16 << 10) / std::max<int64_t>(plane_size, 1));
}
// What half types are computed in.
inline DType wide_dtype(DType t) { return is_reduced_float(t) ? DType::Float32 : t; }

}  // namespace undertow::cpu
