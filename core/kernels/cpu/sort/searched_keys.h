// searched_keys.h: searches many values at once in a sorted sequence of unsigned keys.
// Knows elements and keys; no tensors or threads.
#pragma once
#include <algorithm>

#include "core/kernels/cpu/sort/keys.h"
#include "core/kernels/cpu/sort/rank.h"

namespace undertow::core::cpu {

// Up to here, comparing a vector of values with every key is faster than a binary search for each value.
template <class K>
inline constexpr int64_t kFewKeys = 512 / static_cast<int64_t>(sizeof(K));

// below[i]: how many of the n sorted keys are less than bounds[i].
template <class K>
[[gnu::noinline]] void rank_bounds(const K* keys, int64_t n, const K* bounds, int64_t count, K* below) {
  if (n <= kFewKeys<K>)
    count_below(keys, n, bounds, count, below);
  else
    for (int64_t i = 0; i < count; i++) below[i] = static_cast<K>(rank<false>(keys, nullptr, n, bounds[i]));
}

// Calls found(i, key of values[i], rank) for each of count values: rank is the number of the n sorted keys that are
// less than the value's, or with `right`, not greater.
template <class T, class Found>
void rank_values(const KeyOf<T>* keys, int64_t n, const T* values, int64_t count, bool right, Found&& found) {
  constexpr int64_t kBlock = 512;
  KeyOf<T> bounds[kBlock], below[kBlock];
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t block = std::min(kBlock, count - start);
    keys_of_run(values + start, block, KeyOf<T>{0}, bounds);
    if (right)
      for (int64_t i = 0; i < block; i++) bounds[i]++;
    rank_bounds(keys, n, bounds, block, below);
    for (int64_t i = 0; i < block; i++) {
      const bool all = right && bounds[i] == 0;  // the largest key has no successor
      found(start + i, bounds[i], all ? n : static_cast<int64_t>(below[i]));
    }
  }
}

}  // namespace undertow::core::cpu
