// where.isa.cpp: the loops of where_kernels.h. See Note [One Namespace Per Instruction Set] in simd.h.
// build: scalar_tails
#include "core/kernels/cpu/pointwise/where_kernels.h"

namespace undertow::core::cpu {
namespace {

struct Pair {
  uint64_t low, high;
};

// Uses masks instead of a branch, because conditions are unpredictable.
template <class T>
inline T pick(uint8_t condition, T a, T b) {
  T mask = static_cast<T>(-static_cast<T>(condition != 0));
  return static_cast<T>((a & mask) | (b & static_cast<T>(~mask)));
}
inline Pair pick(uint8_t condition, Pair a, Pair b) {
  return {pick(condition, a.low, b.low), pick(condition, a.high, b.high)};
}

template <class T>
void choose(char* const* p, const int64_t* s, int64_t n) {
  constexpr int64_t w = sizeof(T);
  if (s[0] == w && s[1] == 1 && (s[2] == w || s[2] == 0) && (s[3] == w || s[3] == 0)) {
    auto* out = reinterpret_cast<T*>(p[0]);
    auto* c = reinterpret_cast<const uint8_t*>(p[1]);
    auto *a = reinterpret_cast<const T*>(p[2]), *b = reinterpret_cast<const T*>(p[3]);
    const T first = *a, second = *b;
    if (s[2] == w && s[3] == w) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = pick(c[i], a[i], b[i]);
    } else if (s[2] == w) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = pick(c[i], a[i], second);
    } else if (s[3] == w) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = pick(c[i], first, b[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) out[i] = pick(c[i], first, second);
    }
    return;
  }
  char *out = p[0], *c = p[1], *a = p[2], *b = p[3];
  for (int64_t i = 0; i < n; i++, out += s[0], c += s[1], a += s[2], b += s[3])
    *reinterpret_cast<T*>(out) =
        pick(*reinterpret_cast<uint8_t*>(c), *reinterpret_cast<T*>(a), *reinterpret_cast<T*>(b));
}

}  // namespace

namespace UNDERTOW_ISA_NS {
WhereFn where_loop(int64_t width) {
  switch (width) {
    case 1:
      return choose<uint8_t>;
    case 2:
      return choose<uint16_t>;
    case 4:
      return choose<uint32_t>;
    case 8:
      return choose<uint64_t>;
    default:
      return choose<Pair>;
  }
}
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
