// strided_copy.h: copies elements from one strided layout to another of the same sizes, in parallel.
// Knows pointers and byte strides; not tensors or element types.
#pragma once

#include <cstdint>

#include "core/base/small_vector.h"

namespace undertow::core::cpu {

// Copies `count` bytes that do not overlap.
void copy_bytes(char* to, const char* from, int64_t count);
// The same, on several threads if there are many bytes.
void copy_bytes_parallel(char* to, const char* from, int64_t count);

// Copies `rows` runs of `bytes`.
void copy_rows(char* to, int64_t to_row, const char* from, int64_t from_row, int64_t bytes, int64_t rows);

// Writes the first of n elements, which are `step` bytes apart, to all of them.
void repeat_first(char* to, int64_t step, int64_t n, int64_t width);

// to[i] = from[i] for every index i of `sizes`; strides are in bytes and may be negative. The destination's elements
// are distinct and do not overlap the source.
void move_elements(char* to, const char* from, const Dims& sizes, const Dims& to_strides, const Dims& from_strides,
                   int64_t width);

}  // namespace undertow::core::cpu
