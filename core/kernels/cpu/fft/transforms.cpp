// transforms.cpp: the CPU's FftKernels: converts tensors to the lines of fft.h.
#include "core/kernels/fft.h"

#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/fft/fft.h"
#include "core/tensor/layout.h"

namespace undertow::core::cpu {

namespace {

FftLines lines_of(const Tensor& t, int64_t dim) {
  IntSpan sizes = t.sizes();
  return {product(sizes.subspan(0, static_cast<size_t>(dim))), product(sizes.subspan(static_cast<size_t>(dim) + 1))};
}

template <class F>
void by_precision(DType t, F&& f) {
  if (to_real(t) == DType::Float32)
    f(float());
  else
    f(double());
}

void complex(const Tensor& out, const Tensor& in, int64_t dim, bool inverse, double scale) {
  by_precision(out.dtype(), [&]<class T>(T) {
    using C = std::complex<T>;
    fft_complex<T>(lines_of(out, dim), out.size(dim), in.data_as<C>(), out.data_as<C>(), inverse,
                   static_cast<T>(scale));
  });
}
void from_real(const Tensor& out, const Tensor& in, int64_t dim, double scale) {
  by_precision(out.dtype(), [&]<class T>(T) {
    fft_from_real<T>(lines_of(in, dim), in.size(dim), in.data_as<T>(), out.data_as<std::complex<T>>(), out.size(dim),
                     static_cast<T>(scale));
  });
}
void to_real_lines(const Tensor& out, const Tensor& in, int64_t dim, double scale) {
  by_precision(out.dtype(), [&]<class T>(T) {
    fft_to_real<T>(lines_of(out, dim), out.size(dim), in.data_as<std::complex<T>>(), out.data_as<T>(),
                   static_cast<T>(scale));
  });
}

}  // namespace

constinit const FftKernels fft_kernels = {.complex = complex, .from_real = from_real, .to_real = to_real_lines};

}  // namespace undertow::core::cpu
