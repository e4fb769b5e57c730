// planes.h: helpers shared by kernels on images. An image is its leading dimensions (planes) times one to three spatial
// dimensions. Planes are independent, so work is divided between planes, and each plane is processed in a fixed order.
#pragma once
#include <algorithm>

#include "core/tensor/dtype/dtype.h"

namespace undertow::core::cpu {

// The number of planes in a chunk, so that a chunk is worth a thread.
inline int64_t plane_grain(int64_t plane_size) {
  return std::max<int64_t>(1, (16 << 10) / std::max<int64_t>(plane_size, 1));
}
// The dtype in which half dtypes are computed.
inline DType wide_dtype(DType t) { return is_reduced_float(t) ? DType::Float32 : t; }

}  // namespace undertow::core::cpu
