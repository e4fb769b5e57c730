// fft.h: discrete Fourier transforms of many lines of numbers, of any length.
// Knows row-major arrays and lines; nothing of tensors, several dimensions or names of normalisations.
#pragma once

#include <complex>
#include <cstdint>

namespace undertow::cpu {

// The lines of a row-major array along one dimension: `outer` blocks of `inner` lines that lie side by side.
struct FftLines {
  int64_t outer, inner;
};

// Each line of n numbers becomes, at k, scale times the sum over j of x[j] * exp(-2 pi i j k / n), with +i where
// `inverse`. Threads share lines, or parts of a long one; bitwise the same with any number of them. In place where in
// == out.
template <class T>
void fft_complex(FftLines lines, int64_t n, const std::complex<T>* in, std::complex<T>* out, bool inverse, T scale);
// The first `kept` results, n / 2 + 1 or all n, of lines of n real numbers.
template <class T>
void fft_from_real(FftLines lines, int64_t n, const T* in, std::complex<T>* out, int64_t kept, T scale);
// The inverse transform of lines of n numbers of which the first n / 2 + 1 are given, the rest being conjugate to them.
template <class T>
void fft_to_real(FftLines lines, int64_t n, const std::complex<T>* in, T* out, T scale);

}  // namespace undertow::cpu
