// softmax.isa.cpp: see softmax_kernels.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/softmax/softmax_kernels.h"

#include "core/kernels/cpu/math/vec_math.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

constexpr int64_t kBlock = 1024;  // summed separately, so that long lines stay accurate

// e^x for x <= 0, minus infinity and NaN (undefined above about 88): one bound less than vm::exp, and no scalar
// remainder loop.
template <class T>
inline Vec<T> exp_down(Vec<T> x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    const Vec<T> low = broadcast(vm::kExpLow<T>), magic = broadcast(vm::Real<T>::kMagic);
    x = x < low ? low : x;
    const Vec<T> n = (x * vm::Real<T>::kLog2E + magic) - magic;
    const Vec<T> r = (x - n * vm::Real<T>::kLn2Hi) - n * vm::Real<T>::kLn2Lo;
    // The coefficients of vm::exp_tail.
    Vec<T> p = broadcast(0x1.a06228p-13f);
    p = p * r + 0x1.6d74ecp-10f;
    p = p * r + 0x1.111168p-7f;
    p = p * r + 0x1.5554aep-5f;
    p = p * r + 0x1.555556p-3f;
    p = p * r + 0x1.000000p-1f;
    p = (r * r) * p + r;
    return (Vec<T>)_mm512_maskz_scalef_ps(static_cast<__mmask16>(-1), (__m512)(p + T(1)), (__m512)n);
  }
#endif
  T lanes[kLanes<T>];
  store(lanes, x);
#pragma GCC ivdep
  for (int k = 0; k < kLanes<T>; k++) lanes[k] = vm::exp(lanes[k]);
  return load(lanes);
}

// The largest of n numbers. kNan: NaN if there is one; otherwise a NaN may be lost, which costs only a quarter as much.
template <bool kNan, class V>
inline V larger(V v, V x) {
  if constexpr (kNan)
    return ((x > v) | (x != x)) ? x : v;
  else
    return x > v ? x : v;
}
template <class T, bool kNan>
inline T fold_max(const T* p, int64_t n) {
  constexpr int L = kLanes<T>;
  Vec<T> v;
  if (n < L) {
    v = Partial<T>(n).load(p);
    v = lane_numbers<T>() < static_cast<Index<T>>(n) ? v : broadcast(p[0]);
  } else {
    v = load(p);
    int64_t i = L;
    if (n >= 4 * L) {
      Vec<T> a = load(p + L), b = load(p + 2 * L), c = load(p + 3 * L);
      for (i = 4 * L; i + 4 * L <= n; i += 4 * L) {
        v = larger<kNan>(v, load(p + i));
        a = larger<kNan>(a, load(p + i + L));
        b = larger<kNan>(b, load(p + i + 2 * L));
        c = larger<kNan>(c, load(p + i + 3 * L));
      }
      v = larger<kNan>(larger<kNan>(v, a), larger<kNan>(b, c));
    }
    for (; i + L <= n; i += L) v = larger<kNan>(v, load(p + i));
    if (i < n) v = larger<kNan>(v, load(p + n - L));  // some elements are read twice
  }
  return join_lanes<T>(v, [](Vec<T> a, Vec<T> b) { return larger<kNan>(a, b); });
}

// The sum over [0, n) of f(i, part), which returns a vector of the elements from i on: a whole one, or the lanes of
// `part` with zeros in the others.
template <class T, class F>
inline T sum_vectors(int64_t n, F&& f) {
  constexpr int L = kLanes<T>;
  T s = 0;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t end = min64(at + kBlock, n);
    Vec<T> a{}, b{}, c{}, d{};
    int64_t i = at;
    for (; i + 4 * L <= end; i += 4 * L) {
      a += f(i, nullptr);
      b += f(i + L, nullptr);
      c += f(i + 2 * L, nullptr);
      d += f(i + 3 * L, nullptr);
    }
    for (; i + L <= end; i += L) a += f(i, nullptr);
    if (i < end) {
      Partial<T> part(end - i);
      b += f(i, &part);
    }
    s += sum_of_lanes<T>((a + b) + (c + d));
  }
  return s;
}
template <class T>
inline Vec<T> take(const T* p, const Partial<T>* part) {
  return part ? part->load(p) : load(p);
}

// The sum of e^(x - m) over a line; kKeep also writes the terms to out.
template <class T, bool kKeep>
inline T sum_of_exp(const T* in, T m, int64_t n, T* out) {
  const Vec<T> most = broadcast(m);
  return sum_vectors<T>(n, [&](int64_t i, const Partial<T>* part) {
    if (!part) {
      Vec<T> e = exp_down<T>(load(in + i) - most);
      if constexpr (kKeep) store(out + i, e);
      return e;
    }
    Vec<T> e = exp_down<T>(part->load(in + i) - most);
    e = lane_numbers<T>() < static_cast<Index<T>>(n - i) ? e : Vec<T>{};
    if constexpr (kKeep) part->store(out + i, e);
    return e;
  });
}

// The number of sums whose logarithms are computed at once, while their lines are in L1.
constexpr int64_t kLines = 64;
inline int64_t lines_at_once(int64_t n) { return n >= 8192 ? 1 : min64(kLines, 8192 / n); }

template <class T>
void log_lines(const T* in, T* out, int64_t count, int64_t n) {
  T m[kLines], l[kLines];
  for (int64_t first = 0, step = lines_at_once(n); first < count; first += step) {
    const int64_t c = min64(step, count - first);
    for (int64_t k = 0; k < c; k++) {
      const T* p = in + (first + k) * n;
      m[k] = fold_max<T, false>(p, n);  // a NaN propagates through the sum
      l[k] = sum_of_exp<T, false>(p, m[k], n, nullptr);
    }
    for (int64_t k = 0; k < c; k++) l[k] = vm::log(l[k]);
    for (int64_t k = 0; k < c; k++) {
      const T *p = in + (first + k) * n, most = m[k], log = l[k];
      T* o = out + (first + k) * n;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) o[i] = (p[i] - most) - log;
    }
  }
}

template <class T>
void lines(const T* in, T* out, int64_t count, int64_t n, bool log) {
  if (log) return log_lines(in, out, count, n);
  for (int64_t k = 0; k < count; k++, in += n, out += n) {
    const T r = 1 / sum_of_exp<T, true>(in, fold_max<T, false>(in, n), n, out);
    for (int64_t i = 0; i < n; i++) out[i] *= r;
  }
}

template <class T>
void lines_backward(const T* grad, const T* out, T* to, int64_t count, int64_t n, bool log) {
  for (int64_t k = 0; k < count; k++, grad += n, out += n, to += n) {
    if (log) {
      const T s = sum_vectors<T>(n, [&](int64_t i, const Partial<T>* part) { return take(grad + i, part); });
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) to[i] = grad[i] - vm::exp(out[i]) * s;
    } else {
      const T s = sum_vectors<T>(
          n, [&](int64_t i, const Partial<T>* part) { return take(grad + i, part) * take(out + i, part); });
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) to[i] = out[i] * (grad[i] - s);
    }
  }
}

template <class T>
inline bool is_infinite(T m) {
  return vm::abs(m) == vm::kInf<T>;
}
template <class T>
void lines_lse(const T* in, T* out, int64_t count, int64_t n) {
  T m[kLines];
  for (int64_t first = 0; first < count; first += kLines, out += kLines) {
    const int64_t c = min64(kLines, count - first);
    for (int64_t k = 0; k < c; k++, in += n) {
      m[k] = fold_max<T, true>(in, n);
      out[k] = sum_of_exp<T, false>(in, is_infinite(m[k]) ? T(0) : m[k], n, nullptr);
    }
    // An infinite maximum is the result; a NaN propagates through the sum.
    for (int64_t k = 0; k < c; k++) {
      T l = m[k] + vm::log(out[k]);
      out[k] = is_infinite(m[k]) ? m[k] : l;
    }
  }
}

template <class T>
inline void columns_max(const T* in, int64_t n, int64_t stride, int64_t width, T* m) {
  for (int64_t j = 0; j < width; j++) m[j] = in[j];
  for (int64_t i = 1; i < n; i++) {
    const T* p = in + i * stride;
    for (int64_t j = 0; j < width; j++) m[j] = ((p[j] > m[j]) | (p[j] != p[j])) ? p[j] : m[j];
  }
}
// s[j] = the sum of e^(x - m[j]) down column j; kKeep also writes the terms to out.
template <class T, bool kKeep>
inline void columns_sum_of_exp(const T* in, const T* m, int64_t n, int64_t stride, int64_t width, T* out, T* s) {
  constexpr int64_t kRows = 64;  // summed separately first
  T part[kSoftmaxWidth];
  for (int64_t j = 0; j < width; j++) s[j] = 0;
  for (int64_t from = 0; from < n; from += kRows) {
    for (int64_t j = 0; j < width; j++) part[j] = 0;
    for (int64_t i = from; i < min64(n, from + kRows); i++) {
      const T* p = in + i * stride;
      [[maybe_unused]] T* o = out + i * stride;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; j++) {
        T e = vm::exp(p[j] - m[j]);
        if constexpr (kKeep) o[j] = e;
        part[j] += e;
      }
    }
    for (int64_t j = 0; j < width; j++) s[j] += part[j];
  }
}

template <class T, bool kLog>
void columns_of(const T* in, T* out, int64_t n, int64_t stride, int64_t width) {
  T m[kSoftmaxWidth] = {}, s[kSoftmaxWidth];
  columns_max(in, n, stride, width, m);
  columns_sum_of_exp<T, !kLog>(in, m, n, stride, width, out, s);
  for (int64_t j = 0; j < width; j++) s[j] = kLog ? vm::log(s[j]) : 1 / s[j];
  for (int64_t i = 0; i < n; i++) {
    const T* p = in + i * stride;
    T* o = out + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++) o[j] = kLog ? (p[j] - m[j]) - s[j] : o[j] * s[j];
  }
}
template <class T>
void columns(const T* in, T* out, int64_t n, int64_t stride, int64_t width, bool log) {
  if (log)
    columns_of<T, true>(in, out, n, stride, width);
  else
    columns_of<T, false>(in, out, n, stride, width);
}
template <class T>
void columns_lse(const T* in, T* out, int64_t n, int64_t stride, int64_t width) {
  T m[kSoftmaxWidth] = {}, by[kSoftmaxWidth] = {}, s[kSoftmaxWidth];
  columns_max(in, n, stride, width, m);
  for (int64_t j = 0; j < width; j++) by[j] = is_infinite(m[j]) ? T(0) : m[j];
  columns_sum_of_exp<T, false>(in, by, n, stride, width, nullptr, s);
  for (int64_t j = 0; j < width; j++) {
    T l = by[j] + vm::log(s[j]);
    out[j] = is_infinite(m[j]) ? m[j] : l;
  }
}

template <class T, bool kLog>
void columns_backward_of(const T* grad, const T* out, T* to, int64_t n, int64_t stride, int64_t width) {
  T s[kSoftmaxWidth];
  for (int64_t j = 0; j < width; j++) s[j] = 0;
  for (int64_t i = 0; i < n; i++) {
    const T *g = grad + i * stride, *o = out + i * stride;
    for (int64_t j = 0; j < width; j++) s[j] += kLog ? g[j] : g[j] * o[j];
  }
  for (int64_t i = 0; i < n; i++) {
    const T *g = grad + i * stride, *o = out + i * stride;
    T* t = to + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++) t[j] = kLog ? g[j] - vm::exp(o[j]) * s[j] : o[j] * (g[j] - s[j]);
  }
}
template <class T>
void columns_backward(const T* grad, const T* out, T* to, int64_t n, int64_t stride, int64_t width, bool log) {
  if (log)
    columns_backward_of<T, true>(grad, out, to, n, stride, width);
  else
    columns_backward_of<T, false>(grad, out, to, n, stride, width);
}

template <class T>
constexpr SoftmaxLoops<T> kKernels = {lines<T>,     lines_backward<T>, columns<T>, columns_backward<T>,
                                      lines_lse<T>, columns_lse<T>};

}  // namespace

namespace UNDERTOW_ISA_NS {
const SoftmaxLoops<float>& softmax_float() { return kKernels<float>; }
const SoftmaxLoops<double>& softmax_double() { return kKernels<double>; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
