// positions.cpp: see positions.h. Short lines are ranked by counting; longer ones use a least-significant-digit radix
// sort.
#include "core/kernels/cpu/sort/positions.h"

#include <algorithm>
#include <bit>

#include "core/base/signals.h"
#include "core/kernels/cpu/isa.h"
#include "core/kernels/cpu/sort/sort_kernels.h"
#include "core/kernels/cpu/temporary.h"

namespace undertow::core::cpu {

namespace {

const OrderKernels& kernels() {
  static const OrderKernels& chosen = UNDERTOW_CHOOSE_ISA(order_kernels());
  return chosen;
}
const KeyKernels<uint32_t>& kernels_for(uint32_t) { return kernels().narrow; }
const KeyKernels<uint64_t>& kernels_for(uint64_t) { return kernels().wide; }

struct SortItems;  // scratch
struct SelectItems;
struct NarrowKeys;

// Comparing all pairs is fast as long as they are few vectors.
constexpr int64_t kRanked = 128;

// Sort items: a 32-bit key and its position packed into one word, or both as separate members.
struct Narrow {
  using Count = uint32_t;
  uint64_t word;
  Narrow() = default;
  Narrow(uint32_t key, int64_t at) : word(uint64_t{key} << 32 | static_cast<uint64_t>(at)) {}
  uint64_t digits() const { return word >> 32; }
  int64_t position() const { return static_cast<int64_t>(word & 0xffffffff); }
  bool operator<(const Narrow& o) const { return word < o.word; }
};
struct Wide {
  using Count = int64_t;
  uint64_t key;
  int64_t at;
  Wide() = default;
  Wide(uint64_t k, int64_t i) : key(k), at(i) {}
  uint64_t digits() const { return key; }
  int64_t position() const { return at; }
  bool operator<(const Wide& o) const { return key < o.key || (key == o.key && at < o.at); }
};

template <int kBits, int kPasses, class Item, class Key>
void sort_by_digits(const Key* keys, int64_t n, int64_t* order) {
  constexpr int64_t kBuckets = int64_t{1} << kBits;
  constexpr uint64_t kMask = kBuckets - 1;
  Temporary<SortItems, Item> items(2 * n);
  Item *from = items.get(), *to = from + n;
  using Count = typename Item::Count;
  Count counts[kPasses][kBuckets];
  std::fill(&counts[0][0], &counts[0][0] + kPasses * kBuckets, 0);
  in_polled_parts(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      uint64_t key = keys[i];
      from[i] = Item(keys[i], i);
      for (int p = 0; p < kPasses; p++) counts[p][key >> (p * kBits) & kMask]++;
    }
  });
  for (int p = 0; p < kPasses; p++) {
    Count* count = counts[p];
    if (count[from[0].digits() >> (p * kBits) & kMask] == static_cast<Count>(n)) continue;  // all have the same digit
    Count at = 0;
    for (int64_t b = 0; b < kBuckets; b++) {
      Count here = count[b];
      count[b] = at;
      at += here;
    }
    in_polled_parts(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) to[count[from[i].digits() >> (p * kBits) & kMask]++] = from[i];
    });
    std::swap(from, to);
  }
  for (int64_t i = 0; i < n; i++) order[i] = from[i].position();
}

template <class Key>
bool sort_by_ranks(const Key* keys, int64_t n, int64_t* order) {
  if (n > kRanked) return false;
  Key padded[kRanked], ranks[kRanked];
  int64_t rounded = (n + kRankPad - 1) / kRankPad * kRankPad;
  std::copy(keys, keys + n, padded);
  std::fill(padded + n, padded + rounded, Key{0});
  kernels_for(Key{}).ranks(padded, n, rounded, ranks);
  uint8_t equal[kRanked] = {};  // how many of equal rank came before
  for (int64_t i = 0; i < n; i++) order[static_cast<int64_t>(ranks[i]) + equal[ranks[i]]++] = i;
  return true;
}

// Buckets by a few leading bits of the range between the least and the largest key; only the bucket of rank k is then
// sorted.
template <class Item, class Key>
int64_t select(const Key* keys, int64_t n, int64_t k) {
  constexpr int64_t kMaxBuckets = 2048;
  int64_t buckets = std::min<int64_t>(kMaxBuckets, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))));
  Key least, most;
  kernels_for(Key{}).extent(keys, n, &least, &most);
  int shift = std::max<int>(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(most - least))) -
                                   static_cast<int>(std::bit_width(static_cast<uint64_t>(buckets))) + 1);
  int64_t counts[kMaxBuckets];
  std::fill(counts, counts + buckets, 0);
  auto bucket = [&](Key key) { return static_cast<int64_t>(static_cast<Key>(key - least) >> shift); };
  for (int64_t i = 0; i < n; i++) counts[bucket(keys[i])]++;
  int64_t b = 0, below = 0;
  while (below + counts[b] <= k) below += counts[b++];
  int64_t inside = counts[b];
  Temporary<SelectItems, Item> chosen(inside);
  Item* items = chosen.get();
  for (int64_t i = 0, at = 0; at < inside; i++) {
    items[at] = Item(keys[i], i);
    at += bucket(keys[i]) == b;
  }
  std::nth_element(items, items + (k - below), items + inside);
  return items[k - below].position();
}

constexpr int64_t kPositions = int64_t{1} << 32;  // positions that fit next to a narrow key

}  // namespace

void vector_keys(const float* from, int64_t n, uint32_t flip, uint32_t* keys) {
  kernels().float_keys(from, n, flip, keys);
}
void vector_keys(const double* from, int64_t n, uint64_t flip, uint64_t* keys) {
  kernels().double_keys(from, n, flip, keys);
}
void vector_keys(const int64_t* from, int64_t n, uint64_t flip, uint64_t* keys) {
  kernels().int64_keys(from, n, flip, keys);
}

void sort_positions(const uint32_t* keys, int64_t n, int64_t* order) {
  if (sort_by_ranks(keys, n, order)) return;
  if (n >= kPositions) return sort_by_digits<11, 3, Wide>(keys, n, order);
  if (n < 16384) return sort_by_digits<8, 4, Narrow>(keys, n, order);
  sort_by_digits<11, 3, Narrow>(keys, n, order);
}
void sort_positions(const uint64_t* keys, int64_t n, int64_t* order) {
  if (sort_by_ranks(keys, n, order)) return;
  uint64_t least, most;
  kernels().wide.extent(keys, n, &least, &most);
  if (most - least > 0xffffffff || n >= kPositions) return sort_by_digits<8, 8, Wide>(keys, n, order);
  // Integers rarely use all their digits.
  Temporary<NarrowKeys, uint32_t> narrow(n);
  for (int64_t i = 0; i < n; i++) narrow.get()[i] = static_cast<uint32_t>(keys[i] - least);
  sort_positions(narrow.get(), n, order);
}

int64_t select_position(const uint32_t* keys, int64_t n, int64_t k) {
  return n >= kPositions ? select<Wide>(keys, n, k) : select<Narrow>(keys, n, k);
}
int64_t select_position(const uint64_t* keys, int64_t n, int64_t k) { return select<Wide>(keys, n, k); }

int64_t first_below(const uint32_t* keys, int64_t at, int64_t n, uint32_t bound) {
  return kernels().narrow.first_below(keys, at, n, bound);
}
int64_t first_below(const uint64_t* keys, int64_t at, int64_t n, uint64_t bound) {
  return kernels().wide.first_below(keys, at, n, bound);
}
int64_t count_upto(const uint32_t* keys, int64_t n, uint32_t bound) {
  constexpr int64_t kPart = int64_t{1} << 30;  // the maximum of a narrow count
  int64_t count = 0;
  for (int64_t at = 0; at < n; at += kPart)
    count += kernels().narrow.count_upto(keys + at, std::min(kPart, n - at), bound);
  return count;
}
int64_t count_upto(const uint64_t* keys, int64_t n, uint64_t bound) {
  return kernels().wide.count_upto(keys, n, bound);
}

void count_below(const uint32_t* keys, int64_t n, const uint32_t* bounds, int64_t count, uint32_t* below) {
  kernels().narrow.count_below(keys, n, bounds, count, below);
}
void count_below(const uint64_t* keys, int64_t n, const uint64_t* bounds, int64_t count, uint64_t* below) {
  kernels().wide.count_below(keys, n, bounds, count, below);
}

void mark_runs(const uint32_t* p, int64_t n, uint8_t* marks) { kernels().runs.words(p, n, marks); }
void mark_runs(const uint64_t* p, int64_t n, uint8_t* marks) { kernels().runs.long_words(p, n, marks); }
void mark_runs(const float* p, int64_t n, uint8_t* marks) { kernels().runs.floats(p, n, marks); }
void mark_runs(const double* p, int64_t n, uint8_t* marks) { kernels().runs.doubles(p, n, marks); }
void mark_half_runs(const uint16_t* p, int64_t n, uint16_t infinity, uint8_t* marks) {
  kernels().runs.halves(p, n, infinity, marks);
}

}  // namespace undertow::core::cpu
