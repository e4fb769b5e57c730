// index_read.h: rows read at listed positions into row-major memory, over threads.
// Knows pointers and byte strides; not tensors.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/small_vector.h"

namespace undertow::cpu {

// One list of positions along a dimension of `size` elements, `stride` bytes apart; negative ones count from the end if
// they may.
struct Positions {
  const int64_t* at;
  int64_t size, stride;
  bool may_wrap;
};

// The first of n positions outside [low, high), or n.
int64_t first_outside(const int64_t* positions, int64_t n, int64_t low, int64_t high);

// offsets[k] = the sum of all lists' byte offsets; false if a position is outside, and the offsets then mean nothing.
bool byte_offsets(int64_t* offsets, std::span<const Positions> lists, int64_t count);

// For each of `outer` blocks of the source, `outer_bytes` apart, and each k < count: the `run` elements of `width`
// bytes at the positions that the lists name, one after the other. False, with unspecified output, if a position is
// outside.
struct RowRead {
  char* to;
  const char* from;
  int64_t outer, outer_bytes;
  int64_t run, width;
};
bool read_rows(const RowRead& r, std::span<const Positions> lists, int64_t count);

// Every element has a position of its own along one dimension: to[i] = from[i . strides + positions[i] * stride] for
// the indices i of `sizes`, `to` and `positions` being row-major. False, with unspecified output, if a position is not
// of [0, size).
struct ElementRead {
  char* to = nullptr;
  const char* from = nullptr;
  const int64_t* positions = nullptr;
  int64_t size = 0, stride = 0, width = 0;  // stride and strides in bytes
  Dims sizes, strides;                      // outermost first
};
bool read_elements(const ElementRead& r);

}  // namespace undertow::cpu
