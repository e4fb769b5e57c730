// fft.cpp: forward functions of ops/fft.toml: Fourier transforms along each dimension in turn.
#include <cmath>

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/fft.h"
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
      "Unsupported dtype ", long_name(self.dtype()), ": expected ", complex ? "a complex dtype" : "float32 or float64");
}

}  // namespace

Tensor _fft_c2c(const Tensor& self, IntSpan dim, int64_t normalization, bool forward) {
  check_dtype(self, true);
  Dims dims = wrapped(dim, self.dim());
  if (dims.empty() || self.numel() == 0) return contiguous_copy(self);
  Tensor in = contiguous(self), out = empty_on_device_of(self, self.sizes(), self.dtype());
  double scale = scale_of(normalization, length_of(self.sizes(), dims));
  for (size_t i = 0; i < dims.size(); i++)
    backend_of(in).fft->complex(out, i ? out : in, dims[i], !forward, i + 1 == dims.size() ? scale : 1.0);
  return out;
}

Tensor _fft_r2c(const Tensor& self, IntSpan dim, int64_t normalization, bool onesided) {
  check_dtype(self, false);
  Dims dims = wrapped(dim, self.dim());
  UT_CHECK(!dims.empty(), "_fft_r2c: at least one dimension is needed");
  int64_t last = dims.back(), n = self.size(last), kept = onesided ? n / 2 + 1 : n;
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = kept;
  Tensor in = contiguous(self), out = empty_on_device_of(self, sizes, to_complex(self.dtype()));
  if (out.numel() == 0) return out;
  double scale = scale_of(normalization, length_of(self.sizes(), dims));
  backend_of(in).fft->from_real(out, in, last, scale);
  for (size_t d = 0; d + 1 < dims.size(); d++) backend_of(in).fft->complex(out, out, dims[d], false, 1.0);
  return out;
}

Tensor _fft_c2r(const Tensor& self, IntSpan dim, int64_t normalization, int64_t last_dim_size) {
  check_dtype(self, true);
  Dims dims = wrapped(dim, self.dim());
  UT_CHECK(!dims.empty(), "_fft_c2r: at least one dimension is needed");
  int64_t last = dims.back(), n = last_dim_size, given = n / 2 + 1;
  UT_CHECK(n >= 1 && self.size(last) == given, "_fft_c2r: expected ", given, " complex numbers for ", n,
           " real ones, got ", self.size(last));
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = n;
  Tensor in = contiguous(self), out = empty_on_device_of(self, sizes, to_real(self.dtype()));
  if (out.numel() == 0) return out;
  double scale = scale_of(normalization, length_of(sizes, dims));
  Tensor half = dims.size() > 1 ? empty_on_device_of(self, self.sizes(), self.dtype()) : in;
  for (size_t d = 0; d + 1 < dims.size(); d++) backend_of(in).fft->complex(half, d ? half : in, dims[d], true, 1.0);
  backend_of(in).fft->to_real(out, half, last, scale);
  return out;
}

}  // namespace undertow::fwd
