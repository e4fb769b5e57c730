// fft.cpp: Fourier transforms of tensors: line by line along each dimension. See ops/resample.toml and
// kernels/cpu/fft/fft.h.
#include <cmath>

#include "core/forward/copy/copy.h"
#include "core/kernels/cpu/fft/fft.h"
#include "core/tensor/layout.h"
#include "generated/fwd_fft.h"

namespace undertow::fwd {

namespace {

enum Normalization : int64_t { kNone = 0, kByRoot = 1, kByLength = 2 };

double scale_of(int64_t normalization, double length) {
  UT_CHECK(normalization >= kNone && normalization <= kByLength, "Unsupported normalization type ", normalization);
  return normalization == kNone ? 1.0 : normalization == kByLength ? 1.0 / length : 1.0 / std::sqrt(length);
}

double length_of(IntSpan sizes, const Dims& dims) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(sizes[static_cast<size_t>(d)]);
  return n;
}

Dims wrapped(IntSpan dims, int64_t ndim) {
  Dims out;
  for (int64_t d : dims) out.push_back(wrap_dim(d, ndim));
  return out;
}

void check_dtype(const Tensor& self, bool complex) {
  UT_CHECK(
      self.is_complex() == complex && (complex || self.dtype() == DType::Float32 || self.dtype() == DType::Float64),
      "Unsupported dtype ", long_name(self.dtype()), ": ", complex ? "complex" : "float32 or float64",
      " numbers are transformed here");
}

cpu::FftLines lines_of(IntSpan sizes, int64_t dim) {
  return {product(sizes.subspan(0, static_cast<size_t>(dim))), product(sizes.subspan(static_cast<size_t>(dim) + 1))};
}

// Along one dimension of row-major complex tensors, which may be the same; the results times `scale`.
template <class T>
void transform(const Tensor& in, const Tensor& out, int64_t dim, bool inverse, double scale) {
  using C = std::complex<T>;
  cpu::fft_complex<T>(lines_of(out.sizes(), dim), out.size(dim), in.data_as<C>(), out.data_as<C>(), inverse,
                      static_cast<T>(scale));
}

template <class F>
void by_precision(DType t, F&& f) {
  if (to_real(t) == DType::Float32)
    f(TypeTag<float>{});
  else
    f(TypeTag<double>{});
}

}  // namespace

Tensor _fft_c2c(const Tensor& self, IntSpan dim, int64_t normalization, bool forward) {
  check_dtype(self, true);
  Dims dims = wrapped(dim, self.dim());
  if (dims.empty() || self.numel() == 0) return contiguous_copy(self);
  Tensor in = contiguous(self), out = undertow::empty(self.sizes(), self.dtype());
  double scale = scale_of(normalization, length_of(self.sizes(), dims));
  by_precision(self.dtype(), [&](auto tag) {
    for (size_t i = 0; i < dims.size(); i++)
      transform<typename decltype(tag)::type>(i ? out : in, out, dims[i], !forward, i + 1 == dims.size() ? scale : 1.0);
  });
  return out;
}

Tensor _fft_r2c(const Tensor& self, IntSpan dim, int64_t normalization, bool onesided) {
  check_dtype(self, false);
  Dims dims = wrapped(dim, self.dim());
  UT_CHECK(!dims.empty(), "_fft_r2c: at least one dimension is needed");
  int64_t last = dims.back(), n = self.size(last), kept = onesided ? n / 2 + 1 : n;
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = kept;
  Tensor in = contiguous(self), out = undertow::empty(sizes, to_complex(self.dtype()));
  if (out.numel() == 0) return out;
  double scale = scale_of(normalization, length_of(self.sizes(), dims));
  by_precision(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    cpu::fft_from_real<T>(lines_of(self.sizes(), last), n, in.data_as<T>(), out.data_as<std::complex<T>>(), kept,
                          static_cast<T>(scale));
    for (size_t d = 0; d + 1 < dims.size(); d++) transform<T>(out, out, dims[d], false, 1.0);
  });
  return out;
}

Tensor _fft_c2r(const Tensor& self, IntSpan dim, int64_t normalization, int64_t last_dim_size) {
  check_dtype(self, true);
  Dims dims = wrapped(dim, self.dim());
  UT_CHECK(!dims.empty(), "_fft_c2r: at least one dimension is needed");
  int64_t last = dims.back(), n = last_dim_size, given = n / 2 + 1;
  UT_CHECK(n >= 1 && self.size(last) == given, "_fft_c2r: ", n, " real numbers come from ", given,
           " complex ones, got ", self.size(last));
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = n;
  Tensor in = contiguous(self), out = undertow::empty(sizes, to_real(self.dtype()));
  if (out.numel() == 0) return out;
  double scale = scale_of(normalization, length_of(sizes, dims));
  by_precision(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    Tensor half = dims.size() > 1 ? undertow::empty(self.sizes(), self.dtype()) : in;
    for (size_t d = 0; d + 1 < dims.size(); d++) transform<T>(d ? half : in, half, dims[d], true, 1.0);
    cpu::fft_to_real<T>(lines_of(sizes, last), n, half.data_as<std::complex<T>>(), out.data_as<T>(),
                        static_cast<T>(scale));
  });
  return out;
}

}  // namespace undertow::fwd
