// sort.isa.cpp: the loops of sort_kernels.h. See Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/sort/sort_kernels.h"

#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

// Compares one vector of keys at a time with every key; n is a multiple of the vector length.
template <class Key>
void ranks(const Key* keys, int64_t n, int64_t padded, Key* ranks) {
  for (int64_t i = 0; i < padded; i += kLanes<Key>) {
    Vec<Key> here = load(keys + i), before{};
    for (int64_t j = 0; j < n; j++) before -= (Vec<Key>)(broadcast(keys[j]) < here);
    store(ranks + i, before);
  }
}

template <class Key>
int64_t first_below(const Key* keys, int64_t at, int64_t n, Key bound) {
  constexpr int64_t kBlock = 64;
  for (; at + kBlock <= n; at += kBlock) {
    Key any = 0;
    for (int64_t i = 0; i < kBlock; i++) any |= keys[at + i] < bound;
    if (any) break;
  }
  for (; at < n; at++)
    if (keys[at] < bound) return at;
  return n;
}

template <class Key>
int64_t count_upto(const Key* keys, int64_t n, Key bound) {
  Key count = 0;
  for (int64_t i = 0; i < n; i++) count += keys[i] <= bound;
  return static_cast<int64_t>(count);
}

template <class Key>
void extent(const Key* keys, int64_t n, Key* least, Key* most) {
  Key low = keys[0], high = keys[0];
  for (int64_t i = 1; i < n; i++) {
    low = keys[i] < low ? keys[i] : low;
    high = keys[i] > high ? keys[i] : high;
  }
  *least = low;
  *most = high;
}

void float_keys(const float* __restrict from, int64_t n, uint32_t flip, uint32_t* __restrict keys) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits = __builtin_bit_cast(uint32_t, from[i]);
    uint32_t magnitude = bits & 0x7fffffff;
    // Negative floats increase as their bits decrease, and come before all others; -0 counts as 0, not as negative.
    bool negative = bits >> 31 && magnitude;
    uint32_t key = negative ? ~bits : magnitude | 0x80000000;
    keys[i] = (magnitude > 0x7f800000 ? 0xffffffffu : key) ^ flip;
  }
}

template <class Key>
constexpr KeyKernels<Key> kernels_of() {
  return {ranks<Key>, first_below<Key>, count_upto<Key>, extent<Key>};
}

constexpr OrderKernels kKernels = {kernels_of<uint32_t>(), kernels_of<uint64_t>(), float_keys};

}  // namespace

namespace UNDERTOW_ISA_NS {
const OrderKernels& order_kernels() { return kKernels; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
