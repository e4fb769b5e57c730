// softmax.isa.cpp: see softmax_kernels.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/softmax_kernels.h"

#include "core/kernels/cpu/simd.h"
#include "core/kernels/cpu/vec_math.h"

namespace undertow::cpu {
namespace {

constexpr int64_t kBlock = 1024;  // exponentials are written and then summed while they are in L1

template <class T>
inline T fold_max(const T* p, int64_t n) {
  constexpr int L = kLanes<T>;
  T m = p[0];
  int64_t i = 1;
  if (n >= L) {
    Vec<T> v = load(p);
    for (i = L; i + L <= n; i += L) {
      Vec<T> x = load(p + i);
      v = (x > v) | (x != x) ? x : v;
    }
    T lanes[L];
    store(lanes, v);
    m = lanes[0];
    for (int k = 1; k < L; k++) m = (lanes[k] > m) | (lanes[k] != lanes[k]) ? lanes[k] : m;
  }
  for (; i < n; i++) m = (p[i] > m) | (p[i] != p[i]) ? p[i] : m;
  return m;
}

template <class T>
inline T sum_of(const T* p, int64_t n) {
  constexpr int L = kLanes<T>;
  Vec<T> a{}, b{};
  int64_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) {
    a += load(p + i);
    b += load(p + i + L);
  }
  T s = sum_of_lanes<T>(a + b);
  for (; i < n; i++) s += p[i];
  return s;
}
template <class T>
inline T dot_of(const T* p, const T* q, int64_t n) {
  constexpr int L = kLanes<T>;
  Vec<T> a{}, b{};
  int64_t i = 0;
  for (; i + 2 * L <= n; i += 2 * L) {
    a += load(p + i) * load(q + i);
    b += load(p + i + L) * load(q + i + L);
  }
  T s = sum_of_lanes<T>(a + b);
  for (; i < n; i++) s += p[i] * q[i];
  return s;
}

// Sums block by block, so that long lines keep their accuracy.
template <class T, class F>
inline T sum_blocks(int64_t n, F&& block) {
  T s = 0;
  for (int64_t i = 0; i < n; i += kBlock) s += block(i, min64(kBlock, n - i));
  return s;
}

template <class T>
void lines(const T* in, T* out, int64_t count, int64_t n, bool log) {
  for (int64_t k = 0; k < count; k++, in += n, out += n) {
    T m = fold_max(in, n);
    if (log) {
      T scratch[kBlock];
      T s = sum_blocks<T>(n, [&](int64_t at, int64_t c) {
        for (int64_t i = 0; i < c; i++) scratch[i] = vm::exp(in[at + i] - m);
        return sum_of(scratch, c);
      });
      T l = vm::log(s);
      for (int64_t i = 0; i < n; i++) out[i] = (in[i] - m) - l;
    } else {
      T s = sum_blocks<T>(n, [&](int64_t at, int64_t c) {
        for (int64_t i = 0; i < c; i++) out[at + i] = vm::exp(in[at + i] - m);
        return sum_of(out + at, c);
      });
      T r = 1 / s;
      for (int64_t i = 0; i < n; i++) out[i] *= r;
    }
  }
}

template <class T>
void lines_backward(const T* grad, const T* out, T* to, int64_t count, int64_t n, bool log) {
  for (int64_t k = 0; k < count; k++, grad += n, out += n, to += n) {
    if (log) {
      T s = sum_blocks<T>(n, [&](int64_t at, int64_t c) { return sum_of(grad + at, c); });
      for (int64_t i = 0; i < n; i++) to[i] = grad[i] - vm::exp(out[i]) * s;
    } else {
      T s = sum_blocks<T>(n, [&](int64_t at, int64_t c) { return dot_of(grad + at, out + at, c); });
      for (int64_t i = 0; i < n; i++) to[i] = out[i] * (grad[i] - s);
    }
  }
}

template <class T>
void columns(const T* in, T* out, int64_t n, int64_t stride, int64_t width, bool log) {
  T m[kSoftmaxWidth], s[kSoftmaxWidth];
  for (int64_t j = 0; j < width; j++) {
    m[j] = in[j];
    s[j] = 0;
  }
  for (int64_t i = 1; i < n; i++)
    for (int64_t j = 0; j < width; j++) {
      T x = in[i * stride + j];
      m[j] = (x > m[j]) | (x != x) ? x : m[j];
    }
  for (int64_t i = 0; i < n; i++) {
    const T* p = in + i * stride;
    T* o = out + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++) {
      T e = vm::exp(p[j] - m[j]);
      if (!log) o[j] = e;
      s[j] += e;
    }
  }
  for (int64_t j = 0; j < width; j++) s[j] = log ? vm::log(s[j]) : 1 / s[j];
  for (int64_t i = 0; i < n; i++) {
    const T* p = in + i * stride;
    T* o = out + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++) o[j] = log ? (p[j] - m[j]) - s[j] : o[j] * s[j];
  }
}

template <class T>
void columns_backward(const T* grad, const T* out, T* to, int64_t n, int64_t stride, int64_t width, bool log) {
  T s[kSoftmaxWidth];
  for (int64_t j = 0; j < width; j++) s[j] = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < width; j++) s[j] += log ? grad[i * stride + j] : grad[i * stride + j] * out[i * stride + j];
  for (int64_t i = 0; i < n; i++) {
    const T *g = grad + i * stride, *o = out + i * stride;
    T* t = to + i * stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; j++) t[j] = log ? g[j] - vm::exp(o[j]) * s[j] : o[j] * (g[j] - s[j]);
  }
}

constexpr SoftmaxKernels<float> kFloat = {lines<float>, lines_backward<float>, columns<float>, columns_backward<float>};
constexpr SoftmaxKernels<double> kDouble = {lines<double>, lines_backward<double>, columns<double>, columns_backward<double>};

}  // namespace

namespace UNDERTOW_ISA_NS {
const SoftmaxKernels<float>& softmax_float() { return kFloat; }
const SoftmaxKernels<double>& softmax_double() { return kDouble; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::cpu
