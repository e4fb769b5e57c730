// strided_copy.h: elements moved from one strided layout to another of the same sizes, over threads.
// Knows pointers and byte strides; not tensors or element types.
#pragma once

#include <cstdint>

#include "core/base/small_vector.h"

namespace undertow::cpu {

// `count` bytes that do not overlap.
void copy_bytes(char* to, const char* from, int64_t count);
// The same, over threads where there are many.
void copy_bytes_parallel(char* to, const char* from, int64_t count);

// `rows` runs of `bytes`.
void copy_rows(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t bytes, int64_t rows);

// to[i] = from[i] for every index i of `sizes`; strides in bytes, negative ones walk backwards. The destination's
// elements are distinct and none of them lies in the source.
void move_elements(char* to, const char* from, const Dims& sizes, const Dims& to_strides, const Dims& from_strides,
                   int64_t width);

}  // namespace undertow::cpu
