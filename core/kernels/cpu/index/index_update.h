// index_update.h: writes at positions given by indices: set, add, multiply, maximum, minimum.
// Knows pointers, byte strides and positions; not tensors. The caller checks the byte offsets of an IndexUpdate.
//
// Note [Writes In Index Order]
// Several positions may refer to one element. Each element is then updated in the order of the positions, for any
// number of threads: work is divided over the other dimensions, where no two chunks share an element, or, if whole rows
// are written, over ranges of the destination. A write of single elements along the only dimension is therefore serial.
#pragma once
#include <cstdint>

#include "core/base/small_vector.h"
#include "core/kernels/index.h"
#include "core/tensor/dtype/dtype.h"

namespace undertow::core::cpu {

// All slices use the same positions: dst[dst_offsets[k] + o] op= src[src_offsets[k] + o] for every offset o of the
// other dimensions.
struct IndexUpdate {
  char* dst = nullptr;
  const char* src = nullptr;
  const int64_t* dst_offsets = nullptr;  // in bytes
  const int64_t* src_offsets = nullptr;  // in bytes; if null, elements are src_step apart
  int64_t src_step = 0;
  int64_t count = 0;
  Dims sizes, dst_strides, src_strides;  // of the other dimensions, innermost first
};
void run_update(const IndexUpdate& u, DType dtype, Update kind);

// Every element has its own position along one dimension: dst[index[k] * dst_stride] op= src[k * src_stride].
struct ScatterUpdate {
  char* dst = nullptr;
  const char* src = nullptr;
  const char* index = nullptr;  // int64, row-major, or repeated along the innermost of the other dimensions
  int64_t count = 0;
  int64_t size = 0;                                          // positions must be in [0, size)
  int64_t dst_stride = 0, src_stride = 0, index_stride = 0;  // along the dimension
  Dims sizes, dst_strides, src_strides, index_strides;       // of the other dimensions, innermost first
};
// Returns false if a position was out of range; some elements may have been written by then.
[[nodiscard]] bool run_update(const ScatterUpdate& u, DType dtype, Update kind);

}  // namespace undertow::core::cpu
