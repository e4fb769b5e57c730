// distance_kernels.h: the loops of Euclidean distances between rows, compiled once per instruction set.
// Knows contiguous rows of float or double; the caller computes the products between them.
#pragma once
#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

template <class T>
struct DistanceLoops {
  // The sum of the squares of n elements.
  T (*square)(const T* x, int64_t n);
  // to[j] holds -2 x.y[j] and becomes the distance sqrt(own + others[j] + to[j]), where own and others are the squares
  // of x and of the y. It becomes -1 if that sum cancels almost completely or is not finite. Returns true if there is
  // no -1.
  bool (*finish)(T* to, T own, const T* others, int64_t n);
  // The distance between x and y, summed from their differences.
  T (*direct)(const T* x, const T* y, int64_t n);
};

UNDERTOW_FOR_EACH_ISA(const DistanceLoops<float>& distance_float(); const DistanceLoops<double>& distance_double();)

}  // namespace undertow::core::cpu
