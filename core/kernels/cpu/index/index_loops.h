// index_loops.h: loops over lists of positions and over boolean masks, compiled once per instruction set.
// Works on pointers; knows no tensor.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

struct IndexLoops {
  // to[i] = the element `positions[i] * stride + i * step` bytes from `from`.
  using Gather = void (*)(char* to, const char* from, const int64_t* positions, int64_t n, int64_t stride,
                          int64_t step);
  // The elements of `from` for which `chosen` is not zero, in order, until `count` of them are found.
  using Pick = void (*)(char* to, const char* from, const uint8_t* chosen, int64_t count);

  // Are all in [low, high)?
  bool (*all_within)(const int64_t* positions, int64_t n, int64_t low, int64_t high);
  // offsets[i] = (or, to add, +=) positions[i] * stride, after adding `wrap` to negative positions; returns true if
  // they are all in [0, size) then.
  bool (*offsets)(int64_t* offsets, const int64_t* positions, int64_t n, int64_t size, int64_t wrap, int64_t stride,
                  bool add);
  Gather (*gather)(int64_t width);
  Pick (*pick)(int64_t width);
  int64_t (*count_true)(const uint8_t* values, int64_t n);
  // to[i] += from[i].
  void (*add_float)(float* to, const float* from, int64_t n);
  void (*add_double)(double* to, const double* from, int64_t n);
};

UNDERTOW_FOR_EACH_ISA(const IndexLoops& index_loops();)

// The loops for this machine (index_read.cpp).
const IndexLoops& index_loops();

}  // namespace undertow::core::cpu
