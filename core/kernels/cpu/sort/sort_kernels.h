// sort_kernels.h: loops over unsigned keys whose order is that of the elements they stand for, once per instruction
// set.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::cpu {

inline constexpr int64_t kRankPad = 16;

template <class Key>
struct KeyKernels {
  // How many of n keys are less than each; `padded` is n rounded up to kRankPad, and there is memory for as many of
  // both.
  void (*ranks)(const Key* keys, int64_t n, int64_t padded, Key* ranks);
  // The first position from `at` on whose key is less than `bound`, or n.
  int64_t (*first_below)(const Key* keys, int64_t at, int64_t n, Key bound);
  // How many keys are at most `bound`.
  int64_t (*count_upto)(const Key* keys, int64_t n, Key bound);
  void (*extent)(const Key* keys, int64_t n, Key* least, Key* most);
};

struct OrderKernels {
  KeyKernels<uint32_t> narrow;
  KeyKernels<uint64_t> wide;
  // Floats one after the other as keys: -0 is 0, NaN comes last; each key is then xored with `flip`.
  void (*float_keys)(const float* from, int64_t n, uint32_t flip, uint32_t* keys);
};

UNDERTOW_FOR_EACH_ISA(const OrderKernels& order_kernels();)

}  // namespace undertow::cpu
