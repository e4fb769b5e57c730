// fft.h: discrete Fourier transforms of many lines of numbers, of any length.
// Knows row-major arrays and lines; nothing about tensors, several dimensions or normalisation names.
#pragma once

#include <complex>
#include <cstdint>

namespace undertow::core::cpu {

// The lines of a row-major array along one dimension: `outer` blocks of `inner` interleaved lines.
struct FftLines {
  int64_t outer, inner;
};

// Transforms each line of n numbers: element k becomes scale times the sum over j of x[j] * exp(-2 pi i j k / n), or
// exp(+2 pi i j k / n) if `inverse`. Threads take lines, or parts of a long one; the result is bitwise the same for any
// number of threads. In place if in == out.
template <class T>
void fft_complex(FftLines lines, int64_t n, const std::complex<T>* in, std::complex<T>* out, bool inverse, T scale);
// The first `kept` results, n / 2 + 1 or all n, for lines of n real numbers.
template <class T>
void fft_from_real(FftLines lines, int64_t n, const T* in, std::complex<T>* out, int64_t kept, T scale);
// The inverse transform of lines of n numbers, given the first n / 2 + 1; the rest are their conjugates.
template <class T>
void fft_to_real(FftLines lines, int64_t n, const std::complex<T>* in, T* out, T scale);

}  // namespace undertow::core::cpu
