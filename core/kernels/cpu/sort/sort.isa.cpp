// sort.isa.cpp: the loops of sort_kernels.h. See Note [One Namespace Per Instruction Set] in simd.h.
// build: scalar_tails
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

template <class Key>
void count_below(const Key* __restrict keys, int64_t n, const Key* __restrict bounds, int64_t count,
                 Key* __restrict below) {
  for (int64_t i = 0; i < count; i++) below[i] = 0;
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    const Key a = keys[j], b = keys[j + 1], c = keys[j + 2], d = keys[j + 3];
    for (int64_t i = 0; i < count; i++)
      below[i] += Key(a < bounds[i]) + Key(b < bounds[i]) + Key(c < bounds[i]) + Key(d < bounds[i]);
  }
  for (; j < n; j++)
    for (int64_t i = 0; i < count; i++) below[i] += keys[j] < bounds[i];
}

template <class Real, class Key>
void real_keys(const Real* __restrict from, int64_t n, Key flip, Key* __restrict keys) {
  constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
  constexpr Key infinity = sizeof(Key) == 4 ? Key{0x7f800000} : Key(uint64_t{0x7ff0000000000000});
  for (int64_t i = 0; i < n; i++) {
    Key bits = __builtin_bit_cast(Key, from[i]);
    Key magnitude = bits & ~sign;
    // Negative numbers increase as their bits decrease, and come before all others; -0 counts as 0, not as negative.
    bool negative = bits >> (8 * sizeof(Key) - 1) && magnitude;
    Key key = negative ? ~bits : magnitude | sign;
    keys[i] = (magnitude > infinity ? ~Key{0} : key) ^ flip;
  }
}
void int64_keys(const int64_t* __restrict from, int64_t n, uint64_t flip, uint64_t* __restrict keys) {
  for (int64_t i = 0; i < n; i++) keys[i] = static_cast<uint64_t>(from[i]) ^ uint64_t { 1 } << 63 ^ flip;
}

template <class T>
void mark_runs(const T* p, int64_t n, uint8_t* __restrict marks) {
  for (int64_t i = 0; i < n; i++) marks[i] = !(p[i] == p[i - 1]);
}
void mark_half_runs(const uint16_t* p, int64_t n, uint16_t infinity, uint8_t* __restrict marks) {
  for (int64_t i = 0; i < n; i++) {
    const uint16_t a = p[i], b = p[i - 1];
    const bool differ = a != b, zeros = ((a | b) & 0x7fff) == 0, nan = (a & 0x7fff) > infinity;
    marks[i] = (differ & !zeros) | nan;
  }
}

template <class Key>
constexpr KeyKernels<Key> kernels_of() {
  return {ranks<Key>, first_below<Key>, count_upto<Key>, extent<Key>, count_below<Key>};
}

constexpr OrderKernels kKernels = {
    kernels_of<uint32_t>(),
    kernels_of<uint64_t>(),
    real_keys<float, uint32_t>,
    real_keys<double, uint64_t>,
    int64_keys,
    {mark_runs<uint32_t>, mark_runs<uint64_t>, mark_runs<float>, mark_runs<double>, mark_half_runs}};

}  // namespace

namespace UNDERTOW_ISA_NS {
const OrderKernels& order_kernels() { return kKernels; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
