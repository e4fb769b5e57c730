// scan.cpp: see scan.h; running sums, products, extrema and logsumexp along one dimension: forward functions of
// ops/scan.toml.
#include "core/forward/scan.h"

#include <cmath>

#include "core/forward/copy/copy.h"
#include "core/forward/reduce/lines.h"
#include "core/tensor/promotion.h"
#include "generated/fwd_scan.h"

namespace undertow::fwd {

namespace {

DType scan_dtype(const Tensor& self, std::optional<DType> dtype) {
  return dtype ? *dtype : is_integral(self.dtype()) ? DType::Int64 : self.dtype();
}

struct Shape3 {
  int64_t outer = 1, n = 1, inner = 1;
};
Shape3 around(const Tensor& t, int64_t d) {
  Shape3 s;
  for (int64_t k = 0; k < t.dim(); k++) (k < d ? s.outer : k == d ? s.n : s.inner) *= t.size(k);
  return s;
}

// kLines lines of n elements, one after the other in memory, side by side: a step waits for the one before it in its
// own line only. `by` is 1, or -1 to begin at the last element.
template <int kLines, class T, class Acc, class Step>
void scan_lines(const T* in, T* out, int64_t n, int64_t by, Acc start, Step&& step) {
  Acc acc[kLines];
  for (Acc& a : acc) a = start;
  for (int64_t i = 0, at = by > 0 ? 0 : n - 1; i < n; i++, at += by)
#pragma GCC unroll 8
    for (int k = 0; k < kLines; k++)
      out[k * n + at] = convert<T>(acc[k] = step(acc[k], static_cast<Acc>(in[k * n + at])));
}

// out[i] = step(out[i - by], in[i]) along d. Row-major on both sides; lines when d is innermost, else whole rows at
// once. Sums of float run in double, as torch's do.
template <class T, class Acc, class Step>
void scan(const T* in, T* out, const Shape3& s, int64_t by, Acc start, Step&& step) {
  constexpr int kLines = std::is_floating_point_v<T> ? 8 : std::is_same_v<T, int64_t> ? 4 : 1;
  int64_t slab = s.n * s.inner;
  parallel_for(0, s.outer, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, slab)), [&](int64_t begin, int64_t end) {
    if (s.inner == 1) {
      int64_t o = begin;
      for (; o + kLines <= end; o += kLines) scan_lines<kLines>(in + o * s.n, out + o * s.n, s.n, by, start, step);
      for (; o < end; o++) scan_lines<1>(in + o * s.n, out + o * s.n, s.n, by, start, step);
      return;
    }
    std::vector<Acc> row(static_cast<size_t>(s.inner));
    for (int64_t o = begin; o < end; o++) {
      std::fill(row.begin(), row.end(), start);
      for (int64_t i = 0, at = o * slab + (by > 0 ? 0 : slab - s.inner); i < s.n; i++, at += by * s.inner)
        for (int64_t j = 0; j < s.inner; j++) {
          Acc& acc = row[static_cast<size_t>(j)];
          acc = step(acc, static_cast<Acc>(in[at + j]));
          out[at + j] = convert<T>(acc);
        }
    }
  });
}

template <class T>
struct ScanAcc {
  using type = OpMath<T>;
};
template <>
struct ScanAcc<float> {
  using type = double;
};
template <>
struct ScanAcc<Complex64> {
  using type = Complex128;
};

template <class Step>
Tensor scanned(const Tensor& self, int64_t dim, std::optional<DType> dtype, double start, const char* name, Step&& step,
               int64_t by = 1) {
  int64_t d = wrap_dim(dim, self.dim());
  DType t = scan_dtype(self, dtype);
  UT_CHECK_AS(NotImplemented, t != DType::Bool, "\"", name, "\" not implemented for 'Bool'");
  Tensor in = contiguous(to_dtype(self, t)), out = empty(in.sizes(), t);
  if (in.numel() == 0) return out;
  Shape3 shape = around(in, in.dim() ? d : 0);
  if (is_reduced_float(t)) {  // conversions of whole tensors run on vectors, those of single elements do not
    Tensor wide = to_dtype(in, DType::Float32), sums = empty(in.sizes(), DType::Float32);
    scan<float, float>(wide.data_as<float>(), sums.data_as<float>(), shape, by, static_cast<float>(start), step);
    return to_dtype(sums, t);
  }
  dispatch(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool> && !kIsHalf<T>) {
      using Acc = typename ScanAcc<T>::type;
      scan<T, Acc>(in.data_as<T>(), out.data_as<T>(), shape, by, Acc(start), step);
    }
  });
  return out;
}

// log(exp(a) + exp(b)), exact where one is minus infinity, NaN where one is.
template <class T>
T log_add_exp(T a, T b) {
  if constexpr (kIsComplex<T>) {
    using R = RealOf<T>;
    if (std::isnan(a.real()) || std::isnan(a.imag()) || std::isnan(b.real()) || std::isnan(b.imag()))
      return T(std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN());
    T low = a.real() < b.real() ? a : b, high = a.real() < b.real() ? b : a;
    if (!std::isfinite(low.real()) && low.real() == high.real()) {
      if (low.real() < 0) return low;  // both are log(0)
      return std::log(std::exp(low) + std::exp(high));
    }
    if (std::isinf(low.real())) return high;
    return high + std::log(T(1) + std::exp(low - high));
  } else {
    T low = std::isnan(b) || a > b ? b : a, high = std::isnan(b) || b > a ? b : a;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (low == high && std::isinf(low)) return low;
    return high + std::log1p(std::exp(low - high));
  }
}

using Picked = std::tuple<Tensor, Tensor>;

// Running extremum with the index of the latest element that set or equalled it; a NaN stays.
template <bool kMax>
Picked running_extremum(const Tensor& self, int64_t dim, const char* name) {
  int64_t d = wrap_dim(dim, self.dim());
  Tensor in = at_least_1d(self);
  Tensor values = empty(in.sizes(), in.dtype()), indices = empty(in.sizes(), DType::Int64);
  int64_t n = in.size(d);
  if (in.numel())
    dispatch_real(in.dtype(), name, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_each_line(d, {&in, &values, &indices}, [&](char* const* p) {
        Line<T> x = line<T>(p[0], in, d), v = line<T>(p[1], values, d);
        Line<int64_t> at = line<int64_t>(p[2], indices, d);
        T best = x[0];
        int64_t where = 0;
        for (int64_t i = 0; i < n; i++) {
          auto a = static_cast<OpMath<T>>(x[i]), b = static_cast<OpMath<T>>(best);
          if (is_nan_value<T>(x[i]) || (!is_nan_value<T>(best) && (kMax ? a >= b : a <= b))) {
            best = x[i];
            where = i;
          }
          v[i] = best;
          at[i] = where;
        }
      });
    });
  if (self.dim()) return {values, indices};
  return {drop_dim(values, 0, false, 0), drop_dim(indices, 0, false, 0)};
}

}  // namespace

Tensor cumsum(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scanned(self, dim, dtype, 0, "cumsum_out_cpu", [](auto a, auto x) { return a + x; });
}
Tensor cumsum_from_the_end(const Tensor& self, int64_t dim) {
  return scanned(self, dim, std::nullopt, 0, "cumsum_out_cpu", [](auto a, auto x) { return a + x; }, -1);
}
Tensor cumprod(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return scanned(self, dim, dtype, 1, "cumprod_out_cpu", [](auto a, auto x) { return a * x; });
}
Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  UT_CHECK_AS(NotImplemented, is_differentiable(self.dtype()), "\"logcumsumexp_out_cpu\" not implemented for '",
              long_name(self.dtype()), "'");
  return scanned(self, dim, std::nullopt, -std::numeric_limits<double>::infinity(), "logcumsumexp_out_cpu",
                 [](auto a, auto x) {
                   if constexpr (std::is_integral_v<decltype(a)>)
                     return a + x;
                   else
                     return log_add_exp(a, x);
                 });
}
Picked cummax(const Tensor& self, int64_t dim) { return running_extremum<true>(self, dim, "cummax_cpu"); }
Picked cummin(const Tensor& self, int64_t dim) { return running_extremum<false>(self, dim, "cummin_cpu"); }

}  // namespace undertow::fwd
