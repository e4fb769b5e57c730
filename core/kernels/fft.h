// fft.h: kernels for Fourier transforms along one dimension. All tensors are row-major and not empty.
#pragma once
#include "core/kernels/kernel.h"

namespace undertow::core {

struct FftKernels {
  // Transforms each 1-D slice of n complex numbers along dim: element k becomes scale times the sum over j of x[j] *
  // exp(-2 pi i j k / n), or exp(+2 pi i j k / n) if `inverse`. in and out have the same shape and dtype, and may be
  // the same tensor.
  Kernel<"fft", void(const Tensor& out, const Tensor& in, int64_t dim, bool inverse, double scale)> complex;
  // The same for real slices of n numbers. out's size in dim selects the first n / 2 + 1 results or all n.
  Kernel<"rfft", void(const Tensor& out, const Tensor& in, int64_t dim, double scale)> from_real;
  // The inverse transform to n real numbers, where n is out's size in dim; in holds the first n / 2 + 1 complex ones.
  Kernel<"irfft", void(const Tensor& out, const Tensor& in, int64_t dim, double scale)> to_real;
};

}  // namespace undertow::core
