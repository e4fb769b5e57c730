// keys.h: unsigned keys with the same order as the elements, for the loops of positions.h.
// -0 equals 0, and NaN is larger than everything.
#pragma once
#include <bit>

#include "core/kernels/cpu/half/half_loops.h"
#include "core/kernels/cpu/lines.h"
#include "core/kernels/cpu/sort/positions.h"
#include "core/kernels/cpu/temporary.h"

namespace undertow::core::cpu {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
inline KeyOf<T> key_of(T v) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, uint8_t>)
    return v;
  else if constexpr (std::is_same_v<T, int64_t>)
    return static_cast<uint64_t>(v) ^ uint64_t { 1 } << 63;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<uint32_t>(static_cast<int32_t>(v)) ^ 0x80000000u;
  else {
    using M = OpMath<T>;
    using K = KeyOf<M>;
    constexpr K sign = K{1} << (sizeof(K) * 8 - 1);
    M x = static_cast<M>(v);
    if (x != x) return ~K{0};
    K bits = std::bit_cast<K>(x);
    if (bits == sign) bits = 0;
    return bits & sign ? ~bits : bits | sign;
  }
}

// The keys of n contiguous elements, each xored with `flip`.
template <class T>
void keys_of_run(const T* from, int64_t n, KeyOf<T> flip, KeyOf<T>* keys) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>) {
    vector_keys(from, n, flip, keys);
  } else if constexpr (kIsHalf<T>) {
    constexpr int64_t kBlock = 512;
    const HalfLines lines(DTypeOf<T>::value);
    float wide[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = std::min(kBlock, n - i);
      lines.to_float(reinterpret_cast<const char*>(from + i), count, wide);
      vector_keys(wide, count, flip, keys + i);
    }
  } else {
    for (int64_t i = 0; i < n; i++) keys[i] = key_of(from[i]) ^ flip;
  }
}

struct SortKeys;  // scratch

// The keys of a line's n elements, complemented for descending order. One at a time per thread.
template <class T>
class LineKeys {
 public:
  using K = KeyOf<T>;
  LineKeys(const Line<T>& x, int64_t n, bool descending) : keys_(n) {
    const K flip = descending ? ~K{0} : K{0};
    K* keys = keys_.get();
    if (x.stride == static_cast<int64_t>(sizeof(T)))
      keys_of_run(&x[0], n, flip, keys);
    else
      for (int64_t i = 0; i < n; i++) keys[i] = key_of(x[i]) ^ flip;
  }
  const K* get() const { return keys_.get(); }

 private:
  Temporary<SortKeys, K> keys_;
};

}  // namespace undertow::core::cpu
