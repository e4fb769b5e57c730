// fft.h: discrete Fourier transforms with torch's names and signatures: fft::rfft(x, n, dim, "ortho"). The reference is
// undertow/fft.py; the transforms are in the core.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include <undertow/functions.h>

namespace undertow::fft {

// "backward" (the default): inverse transforms divide by the length; "forward": the others do; "ortho": both divide by
// its square root.
using Norm = optional<std::string_view>;

namespace detail {

inline int64_t scaling(const Norm& norm, bool forward) {
  constexpr int64_t kNotAtAll = 0, kByRoot = 1, kByLength = 2;  // the core's numbers
  if (norm == "ortho") return kByRoot;
  UT_CHECK(!norm || norm == "backward" || norm == "forward", "Invalid normalization mode: \"", *norm,
           "\"; expected \"forward\", \"backward\" or \"ortho\"");
  return (norm == "forward") == forward ? kByLength : kNotAtAll;
}

inline Tensor floating(const Tensor& x) {
  const ScalarType type = x.scalar_type();
  if (!isFloatingType(type) && !isComplexType(type)) return x.to(get_default_dtype());
  UT_CHECK(type == kFloat || type == kDouble || type == kComplexFloat || type == kComplexDouble, "Unsupported dtype ",
           toString(type), ": transforms need float32 or float64");
  return x;
}
inline Tensor complex(const Tensor& x) {
  Tensor y = floating(x);
  return y.to(toComplexType(y.scalar_type()));
}
inline Tensor real(const Tensor& x, const char* name) {
  UT_CHECK(!x.is_complex(), name, " expects a real input tensor, but got ", toString(x.scalar_type()));
  return floating(x);
}

// The dimensions of a transform and their lengths.
struct Axes {
  std::vector<int64_t> dims, lengths;
};
// By default all dimensions, or the last s.size(); -1 in s is the input's length. `half`: the input is half a spectrum,
// and the last length is that of the whole signal.
inline Axes axes(const Tensor& x, const OptionalIntArrayRef& s, const OptionalIntArrayRef& dim, bool half = false) {
  Axes found;
  UT_CHECK(!s || !dim || s->size() == dim->size(),
           "When given, dim and shape arguments must have the same length: got ", dim ? dim->size() : 0, " and ",
           s ? s->size() : 0);
  const auto rank = static_cast<size_t>(x.dim()), count = dim ? dim->size() : s ? s->size() : rank;
  UT_CHECK(count <= rank, "Got shape with ", count, " values but input tensor only has ", rank, " dimensions.");
  for (size_t i = 0; i < count; i++) {
    const int64_t d = dim ? core::wrap_dim((*dim)[i], x.dim()) : static_cast<int64_t>(rank - count + i);
    for (int64_t other : found.dims) UT_CHECK(other != d, "FFT dims must be unique: got ", d, " twice");
    found.dims.push_back(d);
    const bool is_given = s && (*s)[i] != -1;
    const int64_t own = half && i + 1 == count ? 2 * (x.size(d) - 1) : x.size(d), n = is_given ? (*s)[i] : own;
    UT_CHECK(n >= 1, "Invalid number of data points (", n, ") specified");
    found.lengths.push_back(n);
  }
  return found;
}
inline Axes axis(const Tensor& x, optional<int64_t> n, int64_t dim, bool half = false) {
  UT_CHECK(!n || *n >= 1, "Invalid number of data points (", *n, ") specified");
  return n ? axes(x, *n, dim, half) : axes(x, {}, dim, half);
}
inline Axes some_axes(const Tensor& x, const OptionalIntArrayRef& s, const OptionalIntArrayRef& dim, const char* name,
                      bool half = false) {
  UT_CHECK(dim ? !dim->empty() : x.dim() > 0, name, " must transform at least one axis");
  return axes(x, s, dim, half);
}

// Truncates or pads with zeros at the end of each dimension.
inline Tensor resized(Tensor x, const Axes& a) {
  std::vector<int64_t> pad(2 * static_cast<size_t>(x.dim()));
  bool is_padded = false;
  for (size_t i = 0; i < a.dims.size(); i++) {
    const int64_t d = a.dims[i], missing = a.lengths[i] - x.size(d);
    if (missing < 0) x = x.narrow(d, 0, a.lengths[i]);
    if (missing <= 0) continue;
    pad[static_cast<size_t>(2 * (x.dim() - 1 - d) + 1)] = missing;
    is_padded = true;
  }
  return is_padded ? constant_pad_nd(x, pad) : x;
}

inline Tensor real_to_half(const Tensor& x, const Axes& a, int64_t scale) {
  return _fft_r2c(resized(x, a), a.dims, scale, /*onesided=*/true);
}
// The first part of a half spectrum that is needed for a signal of the given lengths.
inline Tensor resized_half(const Tensor& x, Axes a) {
  a.lengths.back() = a.lengths.back() / 2 + 1;
  return resized(x, a);
}
inline Tensor half_to_real(const Tensor& x, const Axes& a, int64_t scale) {
  return _fft_c2r(resized_half(x, a), a.dims, scale, a.lengths.back());
}

inline Tensor along_one(const Tensor& input, optional<int64_t> n, int64_t dim, const Norm& norm, bool forward) {
  Tensor x = floating(input);
  const Axes a = axis(x, n, dim);
  const int64_t scale = scaling(norm, forward);
  if (x.is_complex()) return _fft_c2c(resized(x, a), a.dims, scale, forward);
  Tensor y = _fft_r2c(resized(x, a), a.dims, scale, /*onesided=*/false);
  return forward ? y : y.conj();
}
inline Tensor along_all(const Tensor& input, const OptionalIntArrayRef& s, const OptionalIntArrayRef& dim,
                        const Norm& norm, bool forward) {
  Tensor x = complex(input);
  const Axes a = axes(x, s, dim);
  return _fft_c2c(resized(x, a), a.dims, scaling(norm, forward), forward);
}
inline Tensor hermitian(const Tensor& x, const Axes& a, const Norm& norm) {
  const int64_t scale = scaling(norm, /*forward=*/true);
  Tensor y = resized_half(x, a);
  const IntArrayRef dims = a.dims;
  if (dims.size() > 1) y = _fft_c2c(y, dims.slice(0, dims.size() - 1), scale, /*forward=*/true);
  return _fft_c2r(y.conj(), dims.back(), scale, a.lengths.back());
}
inline Tensor inverse_hermitian(const Tensor& x, const Axes& a, const Norm& norm) {
  const int64_t scale = scaling(norm, /*forward=*/false);
  const IntArrayRef dims = a.dims;
  Tensor y = _fft_r2c(resized(x, a), dims.back(), scale, /*onesided=*/true).conj();
  return dims.size() > 1 ? Tensor(_fft_c2c(y, dims.slice(0, dims.size() - 1), scale, /*forward=*/false)) : y;
}

inline Tensor shifted(const Tensor& x, const OptionalIntArrayRef& dim, int64_t rounding) {
  std::vector<int64_t> dims, by;
  if (dim)
    dims = dim->vec();
  else
    for (int64_t d = 0; d < x.dim(); d++) dims.push_back(d);
  for (int64_t d : dims) by.push_back((x.size(d) + rounding) / 2);
  return dims.empty() ? x.clone() : x.roll(by, dims);
}

}  // namespace detail

// Along one dimension, of which n elements are used.
inline Tensor fft(const Tensor& self, optional<int64_t> n = {}, int64_t dim = -1, const Norm& norm = {}) {
  return detail::along_one(self, n, dim, norm, /*forward=*/true);
}
inline Tensor ifft(const Tensor& self, optional<int64_t> n = {}, int64_t dim = -1, const Norm& norm = {}) {
  return detail::along_one(self, n, dim, norm, /*forward=*/false);
}
// Real input: the first half of the transform; the other half is its conjugate.
inline Tensor rfft(const Tensor& self, optional<int64_t> n = {}, int64_t dim = -1, const Norm& norm = {}) {
  Tensor x = detail::real(self, "rfft");
  return detail::real_to_half(x, detail::axis(x, n, dim), detail::scaling(norm, true));
}
inline Tensor irfft(const Tensor& self, optional<int64_t> n = {}, int64_t dim = -1, const Norm& norm = {}) {
  Tensor x = detail::complex(self);
  return detail::half_to_real(x, detail::axis(x, n, dim, /*half=*/true), detail::scaling(norm, false));
}
// The input is half of a Hermitian signal, and the result is real.
inline Tensor hfft(const Tensor& self, optional<int64_t> n = {}, int64_t dim = -1, const Norm& norm = {}) {
  Tensor x = detail::complex(self);
  return detail::hermitian(x, detail::axis(x, n, dim, /*half=*/true), norm);
}
inline Tensor ihfft(const Tensor& self, optional<int64_t> n = {}, int64_t dim = -1, const Norm& norm = {}) {
  Tensor x = detail::real(self, "ihfft");
  return detail::inverse_hermitian(x, detail::axis(x, n, dim), norm);
}

// Along several dimensions, with lengths s.
inline Tensor fftn(const Tensor& self, const OptionalIntArrayRef& s = {}, const OptionalIntArrayRef& dim = {},
                   const Norm& norm = {}) {
  return detail::along_all(self, s, dim, norm, /*forward=*/true);
}
inline Tensor ifftn(const Tensor& self, const OptionalIntArrayRef& s = {}, const OptionalIntArrayRef& dim = {},
                    const Norm& norm = {}) {
  return detail::along_all(self, s, dim, norm, /*forward=*/false);
}
inline Tensor rfftn(const Tensor& self, const OptionalIntArrayRef& s = {}, const OptionalIntArrayRef& dim = {},
                    const Norm& norm = {}) {
  Tensor x = detail::real(self, "rfftn");
  return detail::real_to_half(x, detail::some_axes(x, s, dim, "rfftn"), detail::scaling(norm, true));
}
inline Tensor irfftn(const Tensor& self, const OptionalIntArrayRef& s = {}, const OptionalIntArrayRef& dim = {},
                     const Norm& norm = {}) {
  Tensor x = detail::complex(self);
  return detail::half_to_real(x, detail::some_axes(x, s, dim, "irfftn", /*half=*/true), detail::scaling(norm, false));
}
inline Tensor hfftn(const Tensor& self, const OptionalIntArrayRef& s = {}, const OptionalIntArrayRef& dim = {},
                    const Norm& norm = {}) {
  Tensor x = detail::complex(self);
  return detail::hermitian(x, detail::some_axes(x, s, dim, "hfftn", /*half=*/true), norm);
}
inline Tensor ihfftn(const Tensor& self, const OptionalIntArrayRef& s = {}, const OptionalIntArrayRef& dim = {},
                     const Norm& norm = {}) {
  Tensor x = detail::real(self, "ihfftn");
  return detail::inverse_hermitian(x, detail::some_axes(x, s, dim, "ihfftn"), norm);
}

// Along the last two dimensions, or along `dim`.
#define UT_FFT2(name)                                                                                               \
  inline Tensor name##2(const Tensor& self, const OptionalIntArrayRef& s = {}, const OptionalIntArrayRef& dim = {}, \
                        const Norm& norm = {}) {                                                                    \
    return dim ? name##n(self, s, dim, norm) : name##n(self, s, {-2, -1}, norm);                                    \
  }
UT_FFT2(fft)
UT_FFT2(ifft)
UT_FFT2(rfft)
UT_FFT2(irfft)
UT_FFT2(hfft)
UT_FFT2(ihfft)
#undef UT_FFT2

// The frequencies of a transform of n samples with spacing d: zero and the positive ones, then the negative ones.
inline Tensor fftfreq(int64_t n, double d = 1.0, const TensorOptions& options = {}) {
  UT_CHECK(n >= 0, "Trying to create tensor with negative dimension ", n, ": [", n, "]");
  const ScalarType type = options.has_dtype() ? options.dtype() : get_default_dtype();
  Tensor whole = arange(n, options.dtype(type).requires_grad(false));
  whole = where(whole < (n + 1) / 2, whole, whole - n);
  return (n ? whole * (1.0 / (static_cast<double>(n) * d)) : whole).requires_grad_(options.requires_grad());
}
inline Tensor fftfreq(int64_t n, const TensorOptions& options) { return fftfreq(n, 1.0, options); }
// The frequencies of rfft.
inline Tensor rfftfreq(int64_t n, double d = 1.0, const TensorOptions& options = {}) {
  const ScalarType type = options.has_dtype() ? options.dtype() : get_default_dtype();
  Tensor whole = arange(n / 2 + 1, options.dtype(type).requires_grad(false));
  return (n ? whole * (1.0 / (static_cast<double>(n) * d)) : whole).requires_grad_(options.requires_grad());
}
inline Tensor rfftfreq(int64_t n, const TensorOptions& options) { return rfftfreq(n, 1.0, options); }

// Moves the zero frequency to the center, and back.
inline Tensor fftshift(const Tensor& self, const OptionalIntArrayRef& dim = {}) {
  return detail::shifted(self, dim, /*rounding=*/0);
}
inline Tensor ifftshift(const Tensor& self, const OptionalIntArrayRef& dim = {}) {
  return detail::shifted(self, dim, /*rounding=*/1);
}

}  // namespace undertow::fft
