// index_read.h: reads rows at listed positions into row-major memory, in parallel.
// Knows pointers and byte strides; not tensors.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/small_vector.h"

namespace undertow::core::cpu {

// One list of positions along a dimension of `size` elements, `stride` bytes apart; negative ones count from the end if
// allowed.
struct Positions {
  const int64_t* at;
  int64_t size, stride;
  bool may_wrap;
};

// The first of n positions outside [low, high), or n.
int64_t first_outside(const int64_t* positions, int64_t n, int64_t low, int64_t high);

// offsets[k] = the sum of all lists' byte offsets; returns false if a position is out of range, and the offsets are
// undefined then.
bool byte_offsets(int64_t* offsets, std::span<const Positions> lists, int64_t count);

// For each of `outer` blocks of the source, `outer_bytes` apart, and each k < count: copies the `run` elements of
// `width` bytes at the listed positions, one run after the other. Returns false if a position is out of range, and the
// output is undefined then.
struct RowRead {
  char* to;
  const char* from;
  int64_t outer, outer_bytes;
  int64_t run, width;
};
bool read_rows(const RowRead& r, std::span<const Positions> lists, int64_t count);

// Every element has its own position along one dimension: to[i] = from[i . strides + positions[i] * stride] for the
// indices i of `sizes`; `to` is row-major. Returns false if a position is not in [0, size), and the output is undefined
// then.
struct ElementRead {
  char* to = nullptr;
  const char* from = nullptr;
  const int64_t* positions = nullptr;
  int64_t size = 0, stride = 0, width = 0;  // stride and strides in bytes
  Dims sizes, strides;                      // outermost first
  Dims position_strides;                    // in elements; the last one of a dimension with several is 0 or 1
};
bool read_elements(const ElementRead& r);

}  // namespace undertow::core::cpu
