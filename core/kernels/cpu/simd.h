// simd.h: one vector of the widest kind in the instruction set being compiled for: load, store, partial, shuffle. For
// *.isa.cpp files only, which define UNDERTOW_ISA_NS; knows no kernel.
#pragma once

#include <cstdint>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

// Note [One Namespace Per Instruction Set]
// A *.isa.cpp file is compiled several times with different -march flags and linked into one library. An inline
// function or template instance with the same name in two of them is one function to the linker, which might keep the
// AVX-512 copy for all. So everything in such a file is in an unnamed namespace, except the entry points in
// UNDERTOW_ISA_NS, and it calls no function templates of the standard library.
namespace undertow::core::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
struct VecOf {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vec = typename VecOf<T>::Type;

template <class T>
inline Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename VecOf<T>::Unaligned*>(p);
}

template <class T>
inline void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename VecOf<T>::Unaligned*>(p) = v;
}

// x - 0 is x for every x, -0.0 included, so the compiler reduces this to a broadcast.
template <class T>
inline Vec<T> broadcast(T x) {
  return x - Vec<T>{};
}

inline int64_t min64(int64_t x, int64_t y) { return x < y ? x : y; }

// The first `count` lanes of a vector, 1 <= count <= lanes: loads zeros into the others without accessing their memory.
template <class T>
class Partial {
 public:
#if defined(__AVX512F__)
  explicit Partial(int64_t count) : mask_(~uint64_t{0} >> (64 - count)) {}

  Vec<T> load(const T* p) const {
    if constexpr (sizeof(T) == 8) return (Vec<T>)_mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask_), p);
    if constexpr (sizeof(T) == 4) return (Vec<T>)_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask_), p);
    if constexpr (sizeof(T) == 2) return (Vec<T>)_mm512_maskz_loadu_epi16(static_cast<__mmask32>(mask_), p);
    if constexpr (sizeof(T) == 1) return (Vec<T>)_mm512_maskz_loadu_epi8(mask_, p);
  }
  void store(T* p, Vec<T> v) const {
    if constexpr (sizeof(T) == 8) _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(mask_), (__m512i)v);
    if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(mask_), (__m512i)v);
    if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(p, static_cast<__mmask32>(mask_), (__m512i)v);
    if constexpr (sizeof(T) == 1) _mm512_mask_storeu_epi8(p, mask_, (__m512i)v);
  }

 private:
  uint64_t mask_;
#else
#if defined(__AVX2__)
  explicit Partial(int64_t count)
      : count_(count), lanes_(Vec<int32_t>{0, 1, 2, 3, 4, 5, 6, 7} < static_cast<int32_t>(count * sizeof(T) / 4)) {}
#else
  explicit Partial(int64_t count) : count_(count) {}
#endif

  Vec<T> load(const T* p) const {
#if defined(__AVX2__)
    if constexpr (sizeof(T) == 8) {
      return (Vec<T>)_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), (__m256i)lanes_);
    }
    if constexpr (sizeof(T) == 4) {
      return (Vec<T>)_mm256_maskload_epi32(reinterpret_cast<const int*>(p), (__m256i)lanes_);
    }
#endif
    Vec<T> v{};
    for (int i = 0; i < kLanes<T>; ++i) {
      if (i < count_) v[i] = p[i];
    }
    return v;
  }
  // Lane by lane even with AVX2: a masked store is microcoded on AMD before Zen 5.
  void store(T* p, Vec<T> v) const {
    T lanes[kLanes<T>];
    cpu::store(lanes, v);
    for (int64_t i = 0; i < count_; ++i) p[i] = lanes[i];
  }

 private:
  int64_t count_;
#if defined(__AVX2__)
  Vec<int32_t> lanes_;
#endif
#endif
};

// A vector of lane indices of the same size as T's lanes, as shuffles expect.
template <int kSize>
struct IndexOf;
template <>
struct IndexOf<8> {
  using Type = int64_t;
  static constexpr Type kCount[8] = {0, 1, 2, 3, 4, 5, 6, 7};
};
template <>
struct IndexOf<4> {
  using Type = int32_t;
  static constexpr Type kCount[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
};
template <class T>
using Index = typename IndexOf<sizeof(T)>::Type;

// 0, 1, 2, ...: loaded from memory, because the compiler does not constant-fold an index filled lane by lane.
template <class T>
inline Vec<Index<T>> lane_numbers() {
  return load(IndexOf<sizeof(T)>::kCount);
}

// Lane i of the result is lane kFrom(i) of the two vectors, with b's lanes numbered after a's. The indices are
// compile-time constants, because Clang has no __builtin_shuffle.
template <class T, int (*kFrom)(int), int... i>
inline Vec<T> shuffle_listed(Vec<T> a, Vec<T> b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, kFrom(i)...);
}
template <class T, int (*kFrom)(int)>
inline Vec<T> shuffle(Vec<T> a, Vec<T> b) {
  return shuffle_listed<T, kFrom>(a, b, std::make_integer_sequence<int, kLanes<T>>());
}

constexpr int even_lane(int i) { return 2 * i; }
constexpr int odd_lane(int i) { return 2 * i + 1; }
constexpr int halved_lane(int i) { return i >> 1; }
template <int kBit>
constexpr int exchanged_lane(int i) {
  return i ^ kBit;
}
template <int kLaneCount>
constexpr int interleaved_lane(int i) {
  return (i >> 1) + (i & 1) * kLaneCount;
}
template <int kLaneCount>
constexpr int interleaved_high_lane(int i) {
  return interleaved_lane<kLaneCount>(i) + kLaneCount / 2;
}

// Every other lane of a, then of b.
template <class T>
inline Vec<T> even_lanes(Vec<T> a, Vec<T> b) {
  return shuffle<T, even_lane>(a, b);
}
template <class T>
inline Vec<T> odd_lanes(Vec<T> a, Vec<T> b) {
  return shuffle<T, odd_lane>(a, b);
}
// Interleaves a0 b0 a1 b1 ...: the lower halves, and the upper halves.
template <class T>
inline Vec<T> interleave_low(Vec<T> a, Vec<T> b) {
  return shuffle<T, interleaved_lane<kLanes<T>>>(a, b);
}
template <class T>
inline Vec<T> interleave_high(Vec<T> a, Vec<T> b) {
  return shuffle<T, interleaved_high_lane<kLanes<T>>>(a, b);
}
// Swaps lanes whose indices differ in kBit.
template <class T, int kBit>
inline Vec<T> exchange_lanes(Vec<T> v) {
  return shuffle<T, exchanged_lane<kBit>>(v, v);
}

// Combines the upper half of the lanes with the lower half until one lane is left.
template <class T, int kHalf = kLanes<T> / 2, class Join>
inline T join_lanes(Vec<T> v, Join join) {
  if constexpr (kHalf == 0) {
    return v[0];
  } else {
    return join_lanes<T, kHalf / 2>(join(v, exchange_lanes<T, kHalf>(v)), join);
  }
}

template <class T>
inline T sum_of_lanes(Vec<T> v) {
  return join_lanes<T>(v, [](Vec<T> a, Vec<T> b) { return a + b; });
}

// Transposes a square of lanes: each round interleaves the two halves of the rows.
template <class T>
inline void transpose(Vec<T> (&rows)[kLanes<T>]) {
  constexpr int kL = kLanes<T>;
#pragma GCC unroll 4
  for (int round = 1; round < kL; round *= 2) {
    Vec<T> dealt[kL];
#pragma GCC unroll 8
    for (int i = 0; i < kL / 2; ++i) {
      dealt[2 * i] = interleave_low<T>(rows[i], rows[i + kL / 2]);
      dealt[2 * i + 1] = interleave_high<T>(rows[i], rows[i + kL / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kL; ++i) rows[i] = dealt[i];
  }
}

}  // namespace
}  // namespace undertow::core::cpu
