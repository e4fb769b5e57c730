// update.cuh: how a write combines with the element already there, one after the other or atomically.
#pragma once
#include "device/complex.cuh"
#include "device/convert.cuh"

namespace undertow {

// In the order of the host's Update.
enum UpdateKind { Set, Add, Multiply, Max, Min };

// In T's arithmetic type.
template <UpdateKind kind, class M>
UT_DEVICE M updated(M now, M with) {
  if constexpr (kind == Set) {
    return with;
  } else if constexpr (kSame<M, bool>) {
    return kind == Add || kind == Max ? now || with : now && with;
  } else if constexpr (kind == Add) {
    return static_cast<M>(now + with);
  } else if constexpr (kind == Multiply) {
    return static_cast<M>(now * with);
  } else if constexpr (!kIsComplex<M>) {  // NaN wins on either side
    if (with != with) return with;
    return (kind == Max ? now < with : with < now) ? with : now;
  } else {
    return now;
  }
}

// Replaces the word of type Word at `at`; tries again as long as another thread changes it in between.
template <class Word, class F>
UT_DEVICE void replace_word(Word* at, F&& f) {
  Word seen = *at, expected;
  do {
    expected = seen;
    seen = atomicCAS(at, expected, f(expected));
  } while (seen != expected);
}

// *at = updated(*at, with), in any order with other threads'. T has at most 8 bytes.
template <UpdateKind kind, class T>
UT_DEVICE void update_atomically(T* at, T with) {
  using M = OpMath<T>;
  if constexpr (kind == Add && (kSame<T, float> || kSame<T, double> || kSame<T, int32_t>)) {
    atomicAdd(at, with);
#if !defined(UNDERTOW_EMULATED) && __CUDA_ARCH__ >= 900
  } else if constexpr (kind == Add && kSame<T, Half>) {
    asm volatile("red.global.add.noftz.f16 [%0], %1;" ::"l"(at), "h"(with.bits) : "memory");
  } else if constexpr (kind == Add && kSame<T, BFloat16>) {
    asm volatile("red.global.add.noftz.bf16 [%0], %1;" ::"l"(at), "h"(with.bits) : "memory");
#endif
  } else if constexpr (kind == Add && kSame<T, int64_t>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(with));
  } else {
    auto combined = [&](T now) { return convert<T>(updated<kind, M>(convert<M>(now), convert<M>(with))); };
    if constexpr (sizeof(T) >= 4) {
      using Word = Conditional<sizeof(T) == 8, unsigned long long, unsigned>;
      replace_word(reinterpret_cast<Word*>(at), [&](Word word) {
        T now;
        memcpy(&now, &word, sizeof(T));
        now = combined(now);
        memcpy(&word, &now, sizeof(T));
        return word;
      });
    } else {  // part of a word of 4 bytes
      const auto address = reinterpret_cast<uintptr_t>(at);
      const int shift = static_cast<int>(address & 3) * 8;
      const unsigned mask = ((1u << (sizeof(T) * 8)) - 1) << shift;
      replace_word(reinterpret_cast<unsigned*>(address & ~uintptr_t(3)), [&](unsigned word) {
        T now;
        unsigned part = word >> shift;
        memcpy(&now, &part, sizeof(T));
        now = combined(now);
        part = 0;
        memcpy(&part, &now, sizeof(T));
        return (word & ~mask) | (part << shift & mask);
      });
    }
  }
}

}  // namespace undertow
