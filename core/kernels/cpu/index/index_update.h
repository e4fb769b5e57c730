// index_update.h: writes at positions given by indices: set, add, multiply, take the larger or smaller.
// Knows pointers, byte strides and positions; not tensors. The byte offsets of an IndexUpdate are checked before.
//
// Note [Writes In Index Order]
// Several positions may name one element. Each element is then updated in the order of the positions, whatever the
// number of threads: work is split over the other dimensions, in which no two chunks meet on an element, or, where
// whole rows are written, over parts of the destination. A write of single elements along the only dimension is
// therefore serial.
#pragma once
#include <cstdint>

#include "core/base/small_vector.h"
#include "core/kernels/index.h"
#include "core/tensor/dtype.h"

namespace undertow::cpu {

// Positions are shared by all slices: dst[dst_offsets[k] + o] op= src[src_offsets[k] + o] for every o of the others.
struct IndexUpdate {
  char* dst = nullptr;
  const char* src = nullptr;
  const int64_t* dst_offsets = nullptr;  // bytes
  const int64_t* src_offsets = nullptr;  // bytes; if null, src_step apart
  int64_t src_step = 0;
  int64_t count = 0;
  Dims sizes, dst_strides, src_strides;  // of the other dimensions, innermost first
};
void run_update(const IndexUpdate& u, DType dtype, Update kind);

// Every element has a position of its own along one dimension: dst[index[k] * dst_stride] op= src[k * src_stride].
struct ScatterUpdate {
  char* dst = nullptr;
  const char* src = nullptr;
  const char* index = nullptr;  // int64, row-major
  int64_t count = 0;
  int64_t size = 0;                                          // positions must be of [0, size)
  int64_t dst_stride = 0, src_stride = 0, index_stride = 0;  // along the dimension
  Dims sizes, dst_strides, src_strides, index_strides;       // of the other dimensions, innermost first
};
// False if a position was outside; what was written by then is written.
[[nodiscard]] bool run_update(const ScatterUpdate& u, DType dtype, Update kind);

}  // namespace undertow::cpu
