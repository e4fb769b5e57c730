// fft.h: kernels of Fourier transforms along one dimension. All tensors are row-major and have elements.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow {

struct FftKernels {
  // Each line of n complex numbers along dim becomes, at k, scale times the sum over j of x[j] * exp(-2 pi i j k / n),
  // with +i where `inverse`. in and out have one shape and dtype, and may be the same tensor.
  Kernel<"fft", void(const Tensor& out, const Tensor& in, int64_t dim, bool inverse, double scale)> complex;
  // The same of real lines of n numbers: the first n / 2 + 1 results or all n, as out's size in dim says.
  Kernel<"rfft", void(const Tensor& out, const Tensor& in, int64_t dim, double scale)> from_real;
  // The inverse transform to n real numbers, out's size in dim, of which the first n / 2 + 1 complex ones are given.
  Kernel<"irfft", void(const Tensor& out, const Tensor& in, int64_t dim, double scale)> to_real;
};

}  // namespace undertow
