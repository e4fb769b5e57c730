// fft.cpp: Fourier transforms of tensors: line by line along each dimension. See ops/resample.toml and kernels/cpu/fft.h.
#include <cmath>

#include "core/base/parallel.h"
#include "core/forward/copy.h"
#include "core/kernels/cpu/fft.h"
#include "core/kernels/cpu/scratch.h"
#include "core/tensor/layout.h"
#include "generated/fwd_resample.h"

namespace undertow::fwd {

namespace {

enum Normalization : int64_t { kNone = 0, kByRoot = 1, kByLength = 2 };
struct Lines;  // scratch memory's purpose

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
  UT_CHECK(self.is_complex() == complex && (complex || self.dtype() == DType::Float32 || self.dtype() == DType::Float64), "Unsupported dtype ", long_name(self.dtype()), ": ",
           complex ? "complex" : "float32 or float64", " numbers are transformed here");
}

// f(line of n complex numbers with scratch behind it, first element, distance between elements) for each line along dim.
template <class T, class F>
void for_lines(IntSpan sizes, int64_t dim, const cpu::FftPlan<T>& plan, F&& f) {
  int64_t inner = product(sizes.subspan(static_cast<size_t>(dim) + 1)), outer = product(sizes.subspan(0, static_cast<size_t>(dim)));
  int64_t n = plan.length();
  parallel_for(0, outer * inner, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
    auto* line = cpu::Scratch<Lines>::template get<std::complex<T>>(n + plan.scratch());
    for (int64_t i = begin; i < end; i++) f(line, i / inner, i % inner, inner);
  });
}

// In place along one dimension of a row-major complex tensor; the results times `scale`.
template <class T>
void transform(const Tensor& t, int64_t dim, bool inverse, double scale) {
  using C = std::complex<T>;
  int64_t n = t.size(dim);
  auto plan = cpu::FftPlan<T>::of(n);
  for_lines<T>(t.sizes(), dim, *plan, [&](C* line, int64_t outer, int64_t i, int64_t inner) {
    C* at = t.data_as<C>() + outer * n * inner + i;
    for (int64_t k = 0; k < n; k++) line[k] = at[k * inner];
    plan->run(line, line + n, inverse);
    for (int64_t k = 0; k < n; k++) at[k * inner] = line[k] * static_cast<T>(scale);
  });
}

template <class F>
void by_precision(DType t, F&& f) {
  if (to_real(t) == DType::Float32) f(TypeTag<float>{});
  else f(TypeTag<double>{});
}

}  // namespace

Tensor _fft_c2c(const Tensor& self, IntSpan dim, int64_t normalization, bool forward) {
  check_dtype(self, true);
  Dims dims = wrapped(dim, self.dim());
  Tensor out = contiguous_copy(self);
  if (out.numel() == 0) return out;
  double scale = scale_of(normalization, length_of(self.sizes(), dims));
  by_precision(self.dtype(), [&](auto tag) {
    for (size_t i = 0; i < dims.size(); i++) transform<typename decltype(tag)::type>(out, dims[i], !forward, i + 1 == dims.size() ? scale : 1.0);
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
    using C = std::complex<T>;
    auto plan = cpu::FftPlan<T>::of(n);
    for_lines<T>(self.sizes(), last, *plan, [&](C* line, int64_t outer, int64_t i, int64_t inner) {
      const T* from = in.data_as<T>() + outer * n * inner + i;
      C* to = out.data_as<C>() + outer * kept * inner + i;
      for (int64_t k = 0; k < n; k++) line[k] = from[k * inner];
      plan->run(line, line + n, false);
      for (int64_t k = 0; k < kept; k++) to[k * inner] = line[k] * static_cast<T>(scale);
    });
    for (size_t d = 0; d + 1 < dims.size(); d++) transform<T>(out, dims[d], false, 1.0);
  });
  return out;
}

Tensor _fft_c2r(const Tensor& self, IntSpan dim, int64_t normalization, int64_t last_dim_size) {
  check_dtype(self, true);
  Dims dims = wrapped(dim, self.dim());
  UT_CHECK(!dims.empty(), "_fft_c2r: at least one dimension is needed");
  int64_t last = dims.back(), n = last_dim_size, given = n / 2 + 1;
  UT_CHECK(n >= 1 && self.size(last) == given, "_fft_c2r: ", n, " real numbers come from ", given, " complex ones, got ", self.size(last));
  Dims sizes(self.sizes());
  sizes[static_cast<size_t>(last)] = n;
  Tensor in = contiguous_copy(self), out = undertow::empty(sizes, to_real(self.dtype()));
  if (out.numel() == 0) return out;
  double scale = scale_of(normalization, length_of(sizes, dims));
  by_precision(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = std::complex<T>;
    for (size_t d = 0; d + 1 < dims.size(); d++) transform<T>(in, dims[d], true, 1.0);
    auto plan = cpu::FftPlan<T>::of(n);
    for_lines<T>(sizes, last, *plan, [&](C* line, int64_t outer, int64_t i, int64_t inner) {
      const C* from = in.data_as<C>() + outer * given * inner + i;
      T* to = out.data_as<T>() + outer * n * inner + i;
      // The half that is not given is the conjugate of the other, read backwards; the ends of it are real.
      line[0] = from[0].real();
      for (int64_t k = 1; k < given; k++) {
        line[k] = from[k * inner];
        line[n - k] = std::conj(from[k * inner]);
      }
      if (n % 2 == 0) line[n / 2] = line[n / 2].real();
      plan->run(line, line + n, true);
      for (int64_t k = 0; k < n; k++) to[k * inner] = line[k].real() * static_cast<T>(scale);
    });
  });
  return out;
}

}  // namespace undertow::fwd
