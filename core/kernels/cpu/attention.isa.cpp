// attention.isa.cpp: see attention_kernels.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/attention_kernels.h"

#include "core/kernels/cpu/simd.h"
#include "core/kernels/cpu/vec_math.h"

namespace undertow::cpu {
namespace {

// NaN wins, as everywhere.
template <class T>
inline Vec<T> greater(Vec<T> x, Vec<T> v) {
  return (x > v) | (x != x) ? x : v;
}
template <class T>
inline T greatest(const T* p, int64_t n) {
  constexpr int L = kLanes<T>;
  T m = -__builtin_inf();
  int64_t i = 0;
  if (n >= 2 * L) {
    Vec<T> v = load(p), w = load(p + L);
    for (i = 2 * L; i + 2 * L <= n; i += 2 * L) {
      v = greater<T>(load(p + i), v);
      w = greater<T>(load(p + i + L), w);
    }
    T lanes[L];
    store(lanes, greater<T>(w, v));
    for (int k = 0; k < L; k++) m = (lanes[k] > m) | (lanes[k] != lanes[k]) ? lanes[k] : m;
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

// Adds the mask to row i; how many columns of it count.
template <class T>
inline int64_t masked_row(const ScoreTile<T>& t, int64_t i, T* row) {
  int64_t end = t.ends + i < t.n ? t.ends + i : t.n;
  if (end < 0) end = 0;
  if (t.mask) {
    const T* m = t.mask + i * t.mask_row;
    if (t.mask_column == 1) {
#pragma GCC ivdep
      for (int64_t j = 0; j < end; j++) row[j] += m[j];
    } else {
      for (int64_t j = 0; j < end; j++) row[j] += m[j * t.mask_column];
    }
  }
  for (int64_t j = end; j < t.n; j++) row[j] = 0;
  return end;
}

template <class T>
void softmax(const ScoreTile<T>& t, T* lse) {
  constexpr int64_t kRows = 64;  // logarithms are taken of as many sums at once
  T sums[kRows];
  for (int64_t first = 0; first < t.rows; first += kRows) {
    int64_t rows = min64(kRows, t.rows - first);
    for (int64_t i = 0; i < rows; i++) {
      T* row = t.scores + (first + i) * t.stride;
      int64_t end = masked_row(t, first + i, row);
      T m = greatest(row, end);
      if (m == -static_cast<T>(__builtin_inf())) {
        for (int64_t j = 0; j < end; j++) row[j] = 0;
        lse[first + i] = 0;  // so that softmax_again finds zeros too
        sums[i] = 1;
        continue;
      }
#pragma GCC ivdep
      for (int64_t j = 0; j < end; j++) row[j] = vm::exp(row[j] - m);
      T s = sum_of(row, end), r = 1 / s;
#pragma GCC ivdep
      for (int64_t j = 0; j < end; j++) row[j] *= r;
      lse[first + i] = m;
      sums[i] = s;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < rows; i++) lse[first + i] += vm::log(sums[i]);
  }
}

template <class T>
void softmax_again(const ScoreTile<T>& t, const T* lse) {
  for (int64_t i = 0; i < t.rows; i++) {
    T* row = t.scores + i * t.stride;
    int64_t end = masked_row(t, i, row);
    T l = lse[i];
#pragma GCC ivdep
    for (int64_t j = 0; j < end; j++) row[j] = vm::exp(row[j] - l);
  }
}

template <class T>
void softmax_backward(const T* p, T* grad, int64_t stride, int64_t rows, int64_t n, const T* delta) {
  for (int64_t i = 0; i < rows; i++) {
    const T* a = p + i * stride;
    T *g = grad + i * stride, d = delta[i];
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) g[j] = a[j] * (g[j] - d);
  }
}

template <class T>
constexpr AttentionKernels<T> kKernels = {softmax<T>, softmax_again<T>, softmax_backward<T>};

}  // namespace

namespace UNDERTOW_ISA_NS {
const AttentionKernels<float>& attention_float() { return kKernels<float>; }
const AttentionKernels<double>& attention_double() { return kKernels<double>; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::cpu
