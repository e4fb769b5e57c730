// test_simd.cpp: the shuffles, folds and partial loads of simd.h, lane by lane, for the instruction set this file is
// compiled for.
#define UNDERTOW_ISA_NS test_simd
#include "core/kernels/cpu/simd.h"

#include "tests/cpp/check.h"

namespace undertow::core::cpu {
namespace {

template <class T>
Vec<T> counted(int first) {
  Vec<T> v{};
  for (int i = 0; i < kLanes<T>; ++i) v[i] = static_cast<T>(first + i);
  return v;
}

template <class T>
void test_shuffles_pick_the_named_lanes() {
  constexpr int kL = kLanes<T>;
  const Vec<T> a = counted<T>(0), b = counted<T>(kL);  // so that lane i of the two together holds i
  const Vec<T> even = even_lanes<T>(a, b), odd = odd_lanes<T>(a, b), low = interleave_low<T>(a, b),
               high = interleave_high<T>(a, b), twice = shuffle<T, halved_lane>(a, a), pairs = exchange_lanes<T, 1>(a);
  for (int i = 0; i < kL; ++i) {
    CHECK(even[i] == static_cast<T>(2 * i));
    CHECK(odd[i] == static_cast<T>(2 * i + 1));
    CHECK(low[i] == static_cast<T>(i / 2 + (i % 2 ? kL : 0)));
    CHECK(high[i] == static_cast<T>(kL / 2 + i / 2 + (i % 2 ? kL : 0)));
    CHECK(twice[i] == static_cast<T>(i / 2));
    CHECK(pairs[i] == static_cast<T>(i % 2 ? i - 1 : i + 1));
  }
}

template <class T>
void test_folds_take_every_lane_once() {
  constexpr int kL = kLanes<T>;
  const Vec<T> v = counted<T>(1);
  CHECK(sum_of_lanes<T>(v) == static_cast<T>(kL * (kL + 1) / 2));
  CHECK(join_lanes<T>(v, [](Vec<T> a, Vec<T> b) { return a > b ? a : b; }) == static_cast<T>(kL));
}

template <class T>
void test_a_square_of_lanes_is_transposed() {
  constexpr int kL = kLanes<T>;
  Vec<T> rows[kL];
  for (int i = 0; i < kL; ++i) rows[i] = counted<T>(i * kL);
  transpose<T>(rows);
  for (int i = 0; i < kL; ++i) {
    for (int j = 0; j < kL; ++j) CHECK(rows[i][j] == static_cast<T>(j * kL + i));
  }
}

template <class T>
void test_partial_vectors_touch_their_lanes_alone() {
  constexpr int kL = kLanes<T>;
  T from[kL], to[kL];
  for (int i = 0; i < kL; ++i) from[i] = static_cast<T>(i + 1);
  for (int count = 1; count <= kL; ++count) {
    for (T& x : to) x = static_cast<T>(-1);
    Partial<T> part(count);
    const Vec<T> v = part.load(from);
    part.store(to, v);
    for (int i = 0; i < kL; ++i) {
      CHECK(v[i] == (i < count ? from[i] : T{}));
      CHECK(to[i] == (i < count ? from[i] : static_cast<T>(-1)));
    }
  }
}

template <class T>
void test_all() {
  test_shuffles_pick_the_named_lanes<T>();
  test_folds_take_every_lane_once<T>();
  test_a_square_of_lanes_is_transposed<T>();
  test_partial_vectors_touch_their_lanes_alone<T>();
}

}  // namespace
}  // namespace undertow::core::cpu

int main() {
  undertow::core::cpu::test_all<float>();
  undertow::core::cpu::test_all<double>();
  return report("test_simd");
}
