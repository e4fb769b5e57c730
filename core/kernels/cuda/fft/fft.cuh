// fft.cuh: what a Fourier transform of the library leaves to do: scaling, and the second half of a real transform.
#pragma once
#include "device/complex.cuh"

// Multiplies by `scale` in place.
template <class T>
__global__ void scale_lines(T* data, double scale, int64_t n) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) data[i] = data[i] * static_cast<T>(scale);
}

// Lines of n complex numbers, `inner` apart, of which the first n / 2 + 1 are known: scales them, and fills the rest
// with their conjugates.
template <class T>
__global__ void mirror_lines(Complex<T>* data, double scale, int64_t outer, int64_t n, int64_t inner) {
  int64_t known = n / 2 + 1, count = outer * known * inner;
  for (int64_t i = thread_number(); i < count; i += thread_count()) {
    int64_t column = i % inner, k = i / inner % known, line = i / inner / known;
    Complex<T>* first = data + line * n * inner + column;
    Complex<T> v = first[k * inner] * Complex<T>(static_cast<T>(scale));
    first[k * inner] = v;
    if (k > 0 && n - k >= known) first[(n - k) * inner] = conj(v);
  }
}
