// normalization.isa.cpp: see normalization_kernels.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/normalization/normalization_kernels.h"

#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

constexpr int64_t kBlock = 1024;  // the mean first, then deviations from it, while the block is in L1
constexpr int64_t kWidth = 128;   // columns whose sums are accumulated at once

// The sum of f over [0, n): of_vector(i) for the lanes from i on, of_one(i) for one element.
template <class T, class V, class S>
inline T fold(int64_t n, V&& of_vector, S&& of_one) {
  constexpr int L = kLanes<T>;
  Vec<T> a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L) {
    a += of_vector(i);
    b += of_vector(i + L);
    c += of_vector(i + 2 * L);
    d += of_vector(i + 3 * L);
  }
  for (; i + L <= n; i += L) a += of_vector(i);
  T s = sum_of_lanes<T>((a + b) + (c + d));
  for (; i < n; i++) s += of_one(i);
  return s;
}

template <class T>
inline T sum_of(const T* x, int64_t n) {
  return fold<T>(n, [&](int64_t i) { return load(x + i); }, [&](int64_t i) { return x[i]; });
}
template <class T>
inline T squares_of(const T* x, T mean, int64_t n) {
  Vec<T> m = broadcast(mean);
  return fold<T>(
      n,
      [&](int64_t i) {
        Vec<T> d = load(x + i) - m;
        return d * d;
      },
      [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
}
template <class T>
inline T dot_of(const T* g, const T* x, T mean, int64_t n) {
  Vec<T> m = broadcast(mean);
  return fold<T>(
      n, [&](int64_t i) { return load(g + i) * (load(x + i) - m); }, [&](int64_t i) { return g[i] * (x[i] - mean); });
}

// Sums of h and of h * (x - mean), h = g * weight (or g), in one pass; also adds g * (x - mean) * rstd to weight_sums
// and g to bias_sums.
template <class T, bool kWeighted, bool kAdds>
inline void sums_of(const T* g, const T* x, const T* weight, T mean, T rstd, T* weight_sums, T* bias_sums, int64_t n,
                    double* sum, double* dot) {
  constexpr int L = kLanes<T>;
  Vec<T> m = broadcast(mean), r = broadcast(rstd), s[2] = {}, d[2] = {};
  auto step = [&](int64_t i, int k) {
    Vec<T> v = load(g + i), c = load(x + i) - m;
    if constexpr (kAdds) {
      store(weight_sums + i, load(weight_sums + i) + v * (c * r));
      store(bias_sums + i, load(bias_sums + i) + v);
    }
    if constexpr (kWeighted) v = v * load(weight + i);
    s[k] += v;
    d[k] += v * c;
  };
  int64_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) {
    step(i, 0);
    step(i + L, 1);
  }
  for (; i + L <= n; i += L) step(i, 0);
  T one = sum_of_lanes<T>(s[0] + s[1]), two = sum_of_lanes<T>(d[0] + d[1]);
  for (; i < n; i++) {
    T v = g[i], c = x[i] - mean;
    if constexpr (kAdds) {
      weight_sums[i] += v * (c * rstd);
      bias_sums[i] += v;
    }
    if constexpr (kWeighted) v *= weight[i];
    one += v;
    two += v * c;
  }
  *sum += static_cast<double>(one);
  *dot += static_cast<double>(two);
}

// Combines the moments of n more elements with those of `seen` (Chan's update).
inline void join(double& mean, double& squares, double seen, double more_mean, double more_squares, double n) {
  double away = more_mean - mean, all = seen + n;
  mean += away * n / all;
  squares += more_squares + away * away * seen * n / all;
}

template <class T>
void moments(const T* x, int64_t n, double* mean, double* squares) {
  double m = 0, q = 0;
  for (int64_t at = 0; at < n; at += kBlock) {
    int64_t c = min64(kBlock, n - at);
    T block = sum_of(x + at, c) / static_cast<T>(c);
    join(m, q, static_cast<double>(at), static_cast<double>(block), static_cast<double>(squares_of(x + at, block, c)),
         static_cast<double>(c));
  }
  *mean = m;
  *squares = q;
}

template <class T>
inline void scale_line(const T* x, T mean, T rstd, const T* weight, const T* bias, T* out, int64_t n) {
  if (weight && bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
  } else if (weight) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * rstd * weight[i];
  } else if (bias) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * rstd + bias[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * rstd;
  }
}

template <class T>
inline double sum_blocks(const T* g, const T* x, T mean, int64_t n) {
  double s = 0;
  for (int64_t at = 0; at < n; at += kBlock)
    s += static_cast<double>(dot_of(g + at, x + at, mean, min64(kBlock, n - at)));
  return s;
}

template <class T>
void lines(const T* x, const T* weight, const T* bias, T* out, T* mean, T* rstd, int64_t count, int64_t n, double eps,
           bool centred) {
  for (int64_t k = 0; k < count; k++, x += n, out += n) {
    double m = 0, q;
    if (centred)
      moments(x, n, &m, &q);
    else
      q = sum_blocks(x, x, T(0), n);
    T r = static_cast<T>(1 / __builtin_sqrt(q / static_cast<double>(n) + eps));
    if (centred) mean[k] = static_cast<T>(m);
    rstd[k] = r;
    scale_line(x, static_cast<T>(m), r, weight, bias, out, n);
  }
}

// x^ = (x - mean) * rstd, h = grad * weight: to = rstd * (h - mean(h) - x^ * mean(h * x^)).
template <class T>
void lines_backward(const T* grad, const T* x, const T* mean, const T* rstd, const T* weight, T* to, T* weight_sums,
                    T* bias_sums, int64_t count, int64_t n, bool centred) {
  for (int64_t k = 0; k < count; k++, grad += n, x += n) {
    T m = centred ? mean[k] : T(0), r = rstd[k];
    bool both = weight_sums && bias_sums;
    if (weight_sums && !both)
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) weight_sums[i] += grad[i] * ((x[i] - m) * r);
    if (bias_sums && !both)
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) bias_sums[i] += grad[i];
    if (!to && !both) continue;
    double sum = 0, dot = 0;
    auto sums = both     ? weight ? sums_of<T, true, true> : sums_of<T, false, true>
                : weight ? sums_of<T, true, false>
                         : sums_of<T, false, false>;
    for (int64_t at = 0; at < n; at += kBlock)
      sums(grad + at, x + at, weight + at, m, r, weight_sums + at, bias_sums + at, min64(kBlock, n - at), &sum, &dot);
    if (!to) continue;
    if (!centred) sum = 0;
    double over = 1 / static_cast<double>(n), rr = static_cast<double>(r);
    T b = static_cast<T>(-dot * rr * rr * rr * over), c = static_cast<T>(-sum * rr * over);
    if (weight) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) to[i] = grad[i] * weight[i] * r + ((x[i] - m) * b + c);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) to[i] = grad[i] * r + ((x[i] - m) * b + c);
    }
    to += n;
  }
}

template <class T>
void segment(const T* x, T mean, T scale, T bias, T* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * scale + bias;
}
template <class T>
void segment_sums(const T* grad, const T* x, T mean, int64_t n, double* sum, double* dot) {
  *sum = *dot = 0;
  for (int64_t at = 0; at < n; at += kBlock)
    sums_of<T, false, false>(grad + at, x + at, nullptr, mean, T(1), nullptr, nullptr, min64(kBlock, n - at), sum, dot);
}
template <class T>
void segment_backward(const T* grad, const T* x, T mean, T a, T b, T c, T* to, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) to[i] = grad[i] * a + ((x[i] - mean) * b + c);
}

template <class T>
void columns_moments(const T* x, int64_t rows, int64_t width, double* mean, double* squares) {
  for (int64_t j0 = 0; j0 < width; j0 += kWidth) {
    int64_t w = min64(kWidth, width - j0);
    T m[kWidth] = {}, q[kWidth] = {};
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < w; j++) m[j] += x[i * width + j0 + j];
    for (int64_t j = 0; j < w; j++) m[j] /= static_cast<T>(rows);
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < w; j++) {
        T d = x[i * width + j0 + j] - m[j];
        q[j] += d * d;
      }
    for (int64_t j = 0; j < w; j++) {
      mean[j0 + j] = static_cast<double>(m[j]);
      squares[j0 + j] = static_cast<double>(q[j]);
    }
  }
}
template <class T>
void columns(const T* x, const T* mean, const T* scale, const T* bias, T* out, int64_t rows, int64_t width) {
  for (int64_t i = 0; i < rows; i++, x += width, out += width)
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++) out[j] = (x[j] - mean[j]) * scale[j] + bias[j];
}
template <class T>
void columns_sums(const T* grad, const T* x, const T* mean, int64_t rows, int64_t width, double* sum, double* dot) {
  for (int64_t j0 = 0; j0 < width; j0 += kWidth) {
    int64_t w = min64(kWidth, width - j0);
    T s[kWidth] = {}, d[kWidth] = {};
    for (int64_t i = 0; i < rows; i++)
      for (int64_t j = 0; j < w; j++) {
        T g = grad[i * width + j0 + j];
        s[j] += g;
        d[j] += g * (x[i * width + j0 + j] - mean[j0 + j]);
      }
    for (int64_t j = 0; j < w; j++) {
      sum[j0 + j] = static_cast<double>(s[j]);
      dot[j0 + j] = static_cast<double>(d[j]);
    }
  }
}
template <class T>
void columns_backward(const T* grad, const T* x, const T* mean, const T* a, const T* b, const T* c, T* to, int64_t rows,
                      int64_t width) {
  for (int64_t i = 0; i < rows; i++, grad += width, x += width, to += width)
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++) to[j] = grad[j] * a[j] + ((x[j] - mean[j]) * b[j] + c[j]);
}

template <class T>
constexpr NormalizationLoops<T> kKernels = {
    moments<T>,          lines<T>,           lines_backward<T>, segment<T>,      segment_sums<T>,
    segment_backward<T>, columns_moments<T>, columns<T>,        columns_sums<T>, columns_backward<T>};

}  // namespace

namespace UNDERTOW_ISA_NS {
const NormalizationLoops<float>& normalization_float() { return kKernels<float>; }
const NormalizationLoops<double>& normalization_double() { return kKernels<double>; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
