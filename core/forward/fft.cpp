// fft.cpp: forward functions of ops/fft.toml: Fourier transforms along each dimension in turn.
// build: small
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/forward/copy/copy.h"
#include "core/kernels/backend.h"
#include "core/kernels/fft.h"
#include "core/tensor/layout.h"
#include "generated/fwd_fft.h"
#include "generated/fwd_shape.h"

namespace undertow::core::fwd {

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

// Note [Layout Of Transforms]
// As in torch, the dimensions that are not transformed come first in the memory of a result, in the order of the
// input's strides; the transformed ones follow. So a transform reads and writes rows, whatever the input's layout is.
struct Rows {
  Dims order;  // the dimensions of the tensor, outermost first
  Dims dims;   // positions in `order` of the transformed dimensions
  Tensor in;   // row-major in this order

  Rows(const Tensor& self, const Dims& transformed) : order(static_cast<size_t>(self.dim())) {
    std::iota(order.begin(), order.end(), 0);
    auto is_batch = [&](int64_t d) {
      return std::find(transformed.begin(), transformed.end(), d) == transformed.end();
    };
    auto batch_end = std::partition(order.begin(), order.end(), is_batch);
    std::sort(order.begin(), batch_end, [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
    std::copy(transformed.begin(), transformed.end(), batch_end);
    for (auto it = batch_end; it != order.end(); ++it) dims.push_back(it - order.begin());
    in = contiguous(permute(self, order));
  }
  // A new tensor for results of these sizes, in the order of the memory.
  Tensor empty(const Dims& sizes, DType dtype) const {
    Dims ordered;
    for (int64_t d : order) ordered.push_back(sizes[static_cast<size_t>(d)]);
    return empty_on_device_of(in, ordered, dtype);
  }
  // The same memory with the dimensions of the tensor; not a view.
  Tensor restored(const Tensor& out) const {
    Dims sizes(order.size()), strides(order.size());
    for (size_t i = 0; i < order.size(); i++) {
      sizes[static_cast<size_t>(order[i])] = out.sizes()[i];
      strides[static_cast<size_t>(order[i])] = out.strides()[i];
    }
    out.impl()->set_layout(sizes, strides);
    return out;
  }
};

// Dimensions by descending stride; all, or all but the last.
Dims by_stride(const Tensor& self, Dims dims, bool but_last) {
  std::sort(dims.begin(), dims.end() - but_last, [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
  return dims;
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
  double scale = scale_of(normalization, length_of(self.sizes(), dims));
  Rows rows(self, by_stride(self, dims, false));
  Tensor out = rows.empty(Dims(self.sizes()), self.dtype());
  for (size_t i = 0; i < dims.size(); i++)
    backend_of(out).fft->complex(out, i ? out : rows.in, rows.dims[i], !forward, i + 1 == dims.size() ? scale : 1.0);
  return rows.restored(out);
}

Tensor _fft_r2c(const Tensor& self, IntSpan dim, int64_t normalization, bool onesided) {
  check_dtype(self, false);
  Dims dims = wrapped(dim, self.dim());
  UT_CHECK(!dims.empty(), "_fft_r2c: at least one dimension is needed");
  int64_t last = dims.back(), n = self.size(last), kept = onesided ? n / 2 + 1 : n;
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = kept;
  if (product(sizes) == 0) return empty_on_device_of(self, sizes, to_complex(self.dtype()));
  double scale = scale_of(normalization, length_of(self.sizes(), dims));
  Rows rows(self, by_stride(self, dims, true));
  Tensor out = rows.empty(sizes, to_complex(self.dtype()));
  backend_of(out).fft->from_real(out, rows.in, rows.dims.back(), scale);
  for (size_t d = 0; d + 1 < dims.size(); d++) backend_of(out).fft->complex(out, out, rows.dims[d], false, 1.0);
  return rows.restored(out);
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
  if (product(sizes) == 0) return empty_on_device_of(self, sizes, to_real(self.dtype()));
  double scale = scale_of(normalization, length_of(sizes, dims));
  dims.pop_back();
  Tensor half = dims.empty() ? self : _fft_c2c(self, dims, kNone, false);
  Rows rows(half, Dims{last});
  Tensor out = rows.empty(sizes, to_real(self.dtype()));
  backend_of(out).fft->to_real(out, rows.in, rows.dims[0], scale);
  return rows.restored(out);
}

}  // namespace undertow::core::fwd
