// scan.cpp: the CPU's ScanKernels: cumulative sums, products, logsumexp and extrema.
#include "core/kernels/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/kernels/cpu/copy/copy.h"
#include "core/kernels/cpu/cpu_backend.h"
#include "core/kernels/cpu/lines.h"

namespace undertow::core::cpu {

namespace {

struct Shape3 {
  int64_t outer = 1, n = 1, inner = 1;
};
Shape3 around(const Tensor& t, int64_t d) {
  Shape3 s;
  for (int64_t k = 0; k < t.dim(); k++) (k < d ? s.outer : k == d ? s.n : s.inner) *= t.size(k);
  return s;
}

// kLines consecutive lines of n elements, processed together: a step only depends on the previous one in its own line.
// `by` is 1, or -1 to start at the last element.
template <int kLines, class T, class Acc, class Step>
void scan_lines(const T* in, T* out, int64_t n, int64_t by, Acc start, Step&& step) {
  Acc acc[kLines];
  for (Acc& a : acc) a = start;
  for (int64_t i = 0, at = by > 0 ? 0 : n - 1; i < n; i++, at += by)
#pragma GCC unroll 8
    for (int k = 0; k < kLines; k++)
      out[k * n + at] = convert<T>(acc[k] = step(acc[k], static_cast<Acc>(in[k * n + at])));
}

// out[i] = step(out[i - by], in[i]) along d. Row-major on both sides; by lines if d is innermost, else whole rows at
// once. Sums of float are accumulated in double, as in torch.
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
template <class T>
  requires std::is_integral_v<T>
struct ScanAcc<T> {
  using type = uint64_t;  // integers wrap around
};
template <>
struct ScanAcc<float> {
  using type = double;
};
template <>
struct ScanAcc<Complex64> {
  using type = Complex128;
};

// log(exp(a) + exp(b)), exact if one is minus infinity, NaN if one is NaN.
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

template <class Step>
void scan_with(const Tensor& out, const Tensor& in, int64_t d, bool from_the_end, double start, Step&& step) {
  Shape3 shape = around(in, d);
  int64_t by = from_the_end ? -1 : 1;
  if (is_reduced_float(in.dtype())) {  // conversions of whole tensors are vectorised, those of single elements are not
    Tensor wide = empty_on_device_of(in, in.sizes(), DType::Float32),
           sums = empty_on_device_of(in, in.sizes(), DType::Float32);
    copy(wide, in);
    scan<float, float>(wide.data_as<float>(), sums.data_as<float>(), shape, by, static_cast<float>(start), step);
    return copy(out, sums);
  }
  dispatch(in.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool> && !kIsHalf<T>) {
      using Acc = typename ScanAcc<T>::type;
      scan<T, Acc>(in.data_as<T>(), out.data_as<T>(), shape, by, Acc(start), step);
    }
  });
}

void scan_along(const Tensor& out, const Tensor& in, int64_t d, Scan op, bool from_the_end) {
  if (op == Scan::Sum) return scan_with(out, in, d, from_the_end, 0, [](auto a, auto x) { return a + x; });
  if (op == Scan::Prod) return scan_with(out, in, d, from_the_end, 1, [](auto a, auto x) { return a * x; });
  scan_with(out, in, d, from_the_end, -std::numeric_limits<double>::infinity(), [](auto a, auto x) {
    if constexpr (std::is_integral_v<decltype(a)>)
      return a + x;
    else
      return log_add_exp(a, x);
  });
}

// Does a replace the extremum so far? The last of equal ones counts, and a NaN stays: only another NaN replaces it.
template <bool kMax, class T>
bool replaces(T a, T best) {
  return is_nan_value(a) | (kMax ? a >= best : a <= best);
}

// kLines consecutive lines of n elements, as in scan_lines.
template <bool kMax, int kLines, class T>
void extremum_lines(const T* in, T* values, int64_t* indices, int64_t n) {
  T best[kLines];
  int64_t where[kLines] = {};
  for (int k = 0; k < kLines; k++) best[k] = in[k * n];
  for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
    for (int k = 0; k < kLines; k++) {
      const T a = in[k * n + i];
      const bool take = replaces<kMax>(a, best[k]);
      values[k * n + i] = best[k] = take ? a : best[k];
      indices[k * n + i] = where[k] = take ? i : where[k];
    }
}

// Row-major on both sides.
template <bool kMax, class T>
void row_major_extremum(const T* in, T* values, int64_t* indices, const Shape3& s) {
  const int64_t slab = s.n * s.inner;
  if (slab == 0) return;
  parallel_for(0, s.outer, std::max<int64_t>(1, 32768 / slab), [&](int64_t begin, int64_t end) {
    int64_t o = begin;
    if (s.inner == 1) {
      for (; o + 4 <= end; o += 4) extremum_lines<kMax, 4>(in + o * s.n, values + o * s.n, indices + o * s.n, s.n);
      for (; o < end; o++) extremum_lines<kMax, 1>(in + o * s.n, values + o * s.n, indices + o * s.n, s.n);
      return;
    }
    for (; o < end; o++) {
      std::copy_n(in + o * slab, s.inner, values + o * slab);
      std::fill_n(indices + o * slab, s.inner, 0);
      for (int64_t i = 1; i < s.n; i++) {
        const int64_t at = o * slab + i * s.inner;
        const T *a = in + at, *best = values + at - s.inner;
        const int64_t* where = indices + at - s.inner;
        T* to = values + at;
        int64_t* to_index = indices + at;
#pragma GCC ivdep
        for (int64_t j = 0; j < s.inner; j++) {
          const bool take = replaces<kMax>(a[j], best[j]);
          to[j] = take ? a[j] : best[j];
          to_index[j] = take ? i : where[j];
        }
      }
    }
  });
}

template <bool kMax>
void running_extremum(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d) {
  if (is_reduced_float(in.dtype())) {  // as in scan_with
    const Tensor wide = empty_on_device_of(in, in.sizes(), DType::Float32),
                 extrema = empty_on_device_of(in, in.sizes(), DType::Float32);
    copy(wide, in);
    running_extremum<kMax>(extrema, indices, wide, d);
    return copy(values, extrema);
  }
  int64_t n = in.size(d);
  const bool row_major = in.is_contiguous() && values.is_contiguous() && indices.is_contiguous();
  dispatch_real(in.dtype(), "cummax", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>)
      if (row_major)
        return row_major_extremum<kMax>(in.data_as<T>(), values.data_as<T>(), indices.data_as<int64_t>(),
                                        around(in, d));
    if constexpr (!kIsHalf<T>)
      for_each_line(d, {&in, &values, &indices}, [&](char* const* p) {
        Line<T> x = line<T>(p[0], in, d), v = line<T>(p[1], values, d);
        Line<int64_t> at = line<int64_t>(p[2], indices, d);
        T best = x[0];
        int64_t where = 0;
        for (int64_t i = 0; i < n; i++) {
          if (replaces<kMax>(x[i], best)) {
            best = x[i];
            where = i;
          }
          v[i] = best;
          at[i] = where;
        }
      });
  });
}
void extremum(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t d, bool max) {
  return max ? running_extremum<true>(values, indices, in, d) : running_extremum<false>(values, indices, in, d);
}

}  // namespace

constinit const ScanKernels scan_kernels = {.scan = scan_along, .extremum = extremum};

}  // namespace undertow::core::cpu
