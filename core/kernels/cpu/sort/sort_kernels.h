// sort_kernels.h: loops over unsigned keys with the same order as their elements, once per instruction set.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

inline constexpr int64_t kRankPad = 16;

template <class Key>
struct KeyKernels {
  // For each key, the number of smaller keys among n; `padded` is n rounded up to kRankPad, and both arrays have room
  // for that many.
  void (*ranks)(const Key* keys, int64_t n, int64_t padded, Key* ranks);
  // The first position from `at` on whose key is less than `bound`, or n.
  int64_t (*first_below)(const Key* keys, int64_t at, int64_t n, Key bound);
  // The number of keys that are at most `bound`.
  int64_t (*count_upto)(const Key* keys, int64_t n, Key bound);
  void (*extent)(const Key* keys, int64_t n, Key* least, Key* most);
  // below[i]: how many of n keys are less than bounds[i], by comparing all: for few keys, and some hundred bounds,
  // which stay in the cache.
  void (*count_below)(const Key* keys, int64_t n, const Key* bounds, int64_t count, Key* below);
};

// marks[i]: does p[i] differ from p[i - 1]? In the types' own comparison: NaN differs from everything, -0 equals 0.
struct RunKernels {
  void (*words)(const uint32_t* p, int64_t n, uint8_t* marks);
  void (*long_words)(const uint64_t* p, int64_t n, uint8_t* marks);
  void (*floats)(const float* p, int64_t n, uint8_t* marks);
  void (*doubles)(const double* p, int64_t n, uint8_t* marks);
  void (*halves)(const uint16_t* p, int64_t n, uint16_t infinity, uint8_t* marks);
};

struct OrderKernels {
  KeyKernels<uint32_t> narrow;
  KeyKernels<uint64_t> wide;
  // Converts contiguous elements to keys: -0 is 0, NaN comes last; each key is then xored with `flip`.
  void (*float_keys)(const float* from, int64_t n, uint32_t flip, uint32_t* keys);
  void (*double_keys)(const double* from, int64_t n, uint64_t flip, uint64_t* keys);
  void (*int64_keys)(const int64_t* from, int64_t n, uint64_t flip, uint64_t* keys);
  RunKernels runs;
};

UNDERTOW_FOR_EACH_ISA(const OrderKernels& order_kernels();)

}  // namespace undertow::core::cpu
