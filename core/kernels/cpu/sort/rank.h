// rank.h: binary search in sorted keys, without branches that depend on them.
// Knows element types; no tensors.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/tensor/dtype/dtype.h"

namespace undertow::core::cpu {

// The number of the n sorted keys (accessed through `sorter` if given) that come before v; NaN counts as greater than
// every number. Every search among n keys takes the same number of steps without a branch on a key, so that the
// processor overlaps searches.
template <bool right, class T>
inline int64_t rank(const T* keys, const int64_t* sorter, int64_t n, T v) {
  using M = OpMath<T>;
  auto count_while = [&](auto&& before) {
    int64_t low = 0, length = n;
    auto key = [&](int64_t i) { return static_cast<M>(keys[sorter ? sorter[i] : i]); };
    while (length > 1) {
      const int64_t half = length / 2;
      low += half * static_cast<int64_t>(before(key(low + half - 1)));
      length -= half;
    }
    return length ? low + before(key(low)) : 0;
  };
  const M value = static_cast<M>(v);
  if constexpr (!std::is_integral_v<T>)
    if (value != value) return right ? n : count_while([](M key) { return key == key; });
  return count_while([value](M key) { return right ? key <= value : key < value; });
}

}  // namespace undertow::core::cpu
