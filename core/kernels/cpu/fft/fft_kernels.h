// fft_kernels.h: the contract between the Fourier transforms' driver (fft.cpp) and their loops, compiled once per
// instruction set. Knows blocks of lanes; nothing about dimensions, threads or plans.
#pragma once

#include <cstdint>

#include "core/kernels/cpu/isa.h"

namespace undertow::core::cpu {

// Note [Lanes Of Lines]
// `lanes` lines are transformed together, one in each lane of a vector: for each element of the lines, a block holds a
// vector of real parts, then a vector of imaginary parts. So every radix and every length uses whole vectors, and a
// root of unity is one number for all lanes. The inverse transform is the forward one with the two parts exchanged:
// `swapped` makes a kernel read and write the second vector as the real part.
template <class T>
struct FftLoops {
  int64_t lanes;

  // to[e * to_stride + lane] = from[lane * row_stride + e] for e < length and lane < rows; zeros in the other lanes.
  void (*rows_in)(int64_t length, int64_t rows, const T* from, int64_t row_stride, T* to, int64_t to_stride);
  // to[lane * row_stride + e] = from[e * from_stride + lane] * scale.
  void (*rows_out)(int64_t length, int64_t rows, const T* from, int64_t from_stride, T* to, int64_t row_stride,
                   T scale);
  // Lanes that are adjacent in memory: n complex numbers of each, `stride` complex numbers apart.
  void (*pairs_in)(int64_t n, int64_t lanes, const T* from, int64_t stride, T* to);
  void (*pairs_out)(int64_t n, int64_t lanes, const T* from, T* to, int64_t stride, T scale);

  // One stage of `radix`: m butterflies of `stride` elements; roots holds radix - 1 complex numbers for each of the m.
  // `radix_roots` are the radix roots of unity of a radix above 5 and other than 8.
  void (*stage)(int64_t radix, int64_t m, int64_t stride, const T* from, T* to, const T* roots, const T* radix_roots,
                bool swapped);
  // Multiplies element k by factors[k], one complex number for all lanes, and by scale.
  void (*scale_elements)(int64_t n, const T* from, const T* factors, T* to, T scale, bool swapped);
  // The same with one factor per lane, in the layout of the block.
  void (*scale_lanes)(int64_t n, const T* from, const T* factors, T* to, bool swapped);
  // The h + 1 first results, or all 2h with `all`, for real lines of 2h numbers, from the transform of their h pairs;
  // roots are those of 2h.
  void (*unravel)(int64_t h, const T* from, T* to, const T* roots, bool all);
  // The inverse: h pairs whose inverse transform is the real line, times two.
  void (*ravel)(int64_t h, const T* from, T* to, const T* roots);
};

UNDERTOW_FOR_EACH_ISA(template <class T> const FftLoops<T>& fft_loops();)

}  // namespace undertow::core::cpu
