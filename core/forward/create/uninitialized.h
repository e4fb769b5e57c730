// uninitialized.h: memory that programs can read before anything is written to it. While fill_uninitialized is on, it
// is filled, so that a program that reads it too early gets the same result in every run.
#pragma once
#include <atomic>

#include "core/base/error.h"
#include "core/tensor/tensor.h"

namespace undertow::core {

// For the whole process. Without effect on results that an operator writes completely.
void set_fill_uninitialized(bool on);

namespace fwd {

extern std::atomic<bool> fill_uninitialized;  // a lone flag, which orders no other memory

// Sets all elements to NaN, the largest integer, or true.
void fill_unset(const Tensor& t);

inline Tensor unset(Tensor t) {
  if (UT_UNLIKELY(fill_uninitialized.load(std::memory_order_relaxed))) fill_unset(t);
  return t;
}
// The same for the bytes of t's storage from `begin` on, by which a resize has enlarged it.
void fill_unset_bytes(const Tensor& t, size_t begin);

}  // namespace fwd

}  // namespace undertow::core
