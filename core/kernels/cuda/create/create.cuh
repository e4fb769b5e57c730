// create.cuh: kernels that fill a vector with a sequence.
#pragma once
#include "device/complex_math.cuh"
#include "device/convert.cuh"

namespace undertow {

// The type in which torch computes a range: one step wider than the elements.
template <class T>
using RangeMath = Conditional<kIsIntegral<T>, int64_t, Conditional<kIsHalf<T>, float, double>>;

template <class T>
__global__ void arange(T* out, RangeMath<T> start, RangeMath<T> step, int64_t n) {
  using W = RangeMath<T>;
  for (int64_t i = thread_number(); i < n; i += thread_count())
    out[i] = convert<T>(static_cast<W>(start + step * static_cast<W>(i)));
}

// The type in which evenly spaced values are computed, and in which the ends arrive: those of integers and half dtypes
// are rounded to elements first.
template <class T>
using SpacedMath = Conditional<kIsIntegral<T>, double, OpMath<T>>;
template <class T>
using SpacedEnd = Conditional<kSame<T, bool>, double, T>;

// Element i of n from a to b, computed from the nearer end so that both ends are exact. logarithmic: the exponents.
template <class T, bool logarithmic>
__global__ void spaced(T* out, SpacedEnd<T> start, SpacedEnd<T> end, double base, int64_t n) {
  using S = SpacedMath<T>;
  const S a = convert<S>(start), b = convert<S>(end);
  const S step = n > 1 ? S((b - a) / S(static_cast<RealOf<S>>(n - 1))) : S(0);
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    S v = n == 1      ? a
          : i < n / 2 ? S(a + step * S(static_cast<RealOf<S>>(i)))
                      : S(b - step * S(static_cast<RealOf<S>>(n - 1 - i)));
    if constexpr (logarithmic) v = scalar_math::pow_of(S(static_cast<RealOf<S>>(base)), v);
    out[i] = convert<T>(v);
  }
}

}  // namespace undertow
