// pack_choice.h: how many neighbouring elements a thread may load at once, decided on the host from the addresses.
#pragma once
#include <bit>
#include <cstdint>
#include <initializer_list>

#include "core/tensor/tensor.h"

namespace undertow::core::cuda {

inline uintptr_t misalignment(const Tensor& t) { return reinterpret_cast<uintptr_t>(t.data()) & 15; }

// For rows of n elements that all start at a multiple of 16 bytes: elements in 16 bytes, else 1.
inline int pack_for_rows(int64_t n, std::initializer_list<const Tensor*> tensors) {
  int most = 1;
  for (const Tensor* t : tensors) {
    if (!t->defined()) continue;
    int pack = static_cast<int>(16 / t->itemsize());
    if (misalignment(*t) || n % pack) return 1;
    if (most == 1 || pack < most) most = pack;
  }
  return most;
}

// For rows of any length whose kernels begin with the elements before the first aligned one: the tensors, of one dtype,
// must be misaligned alike.
inline int pack_for_any_rows(std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  for (const Tensor* t : tensors)
    if (misalignment(*t) != misalignment(first) || misalignment(*t) % static_cast<uintptr_t>(t->itemsize())) return 1;
  return static_cast<int>(16 / first.itemsize());
}

// Packs that each of `lanes` threads holds of a row of n elements: a power of two, or three quarters of one, because
// each number is another kernel.
inline int packs_per_lane(int64_t n, int pack, int64_t lanes) {
  const int64_t each = (n + pack * lanes - 1) / (pack * lanes);
  const auto power = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(each)));
  return static_cast<int>(power >= 4 && each <= power / 4 * 3 ? power / 4 * 3 : power);
}

}  // namespace undertow::core::cuda
