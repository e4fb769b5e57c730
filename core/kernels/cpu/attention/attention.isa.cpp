// attention.isa.cpp: see attention_kernels.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/attention/attention_kernels.h"

#include "core/kernels/cpu/math/vec_math.h"
#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

// NaN wins.
template <class T>
inline Vec<T> greater(Vec<T> x, Vec<T> v) {
  return ((x > v) | (x != x)) ? x : v;
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
    for (int k = 0; k < L; k++) m = ((lanes[k] > m) | (lanes[k] != lanes[k])) ? lanes[k] : m;
  }
  for (; i < n; i++) m = ((p[i] > m) | (p[i] != p[i])) ? p[i] : m;
  return m;
}

// row = exp(row - m); returns its sum.
template <class T>
inline T exponentials(T* row, int64_t n, T m) {
  constexpr int L = kLanes<T>;
  constexpr int64_t kRun = 4 * L;
  Vec<T> sums[4] = {};
  int64_t i = 0;
  for (; i + kRun <= n; i += kRun) {  // a short run stays in registers between the two loops
#pragma GCC ivdep
    for (int64_t j = 0; j < kRun; j++) row[i + j] = vm::exp(row[i + j] - m);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) sums[v] += load(row + i + v * L);
  }
  T rest = 0;
  for (; i < n; i++) rest += row[i] = vm::exp(row[i] - m);
  return sum_of_lanes<T>((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

// Adds the mask to row i; returns the number of its columns that are used.
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
void softmax(const ScoreTile<T>& t, T* lse, T* inverse_sums) {
  constexpr int64_t kRows = 64;  // the number of sums whose logarithms are computed at once
  T sums[kRows];
  for (int64_t first = 0; first < t.rows; first += kRows) {
    int64_t rows = min64(kRows, t.rows - first);
    for (int64_t i = 0; i < rows; i++) {
      T* row = t.scores + (first + i) * t.stride;
      int64_t end = masked_row(t, first + i, row);
      T m = greatest(row, end);
      if (m == -static_cast<T>(__builtin_inf())) {
        for (int64_t j = 0; j < end; j++) row[j] = 0;
        lse[first + i] = 0;  // so that softmax_from_lse gives zeros too
        sums[i] = inverse_sums[first + i] = 1;
        continue;
      }
      T s = exponentials(row, end, m);
      inverse_sums[first + i] = 1 / s;
      lse[first + i] = m;
      sums[i] = s;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < rows; i++) lse[first + i] += vm::log(sums[i]);
  }
}

template <class T>
void softmax_from_lse(const ScoreTile<T>& t, const T* lse) {
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
void scale_rows(T* data, int64_t stride, int64_t rows, int64_t n, const T* factors) {
  for (int64_t i = 0; i < rows; i++) {
    T *row = data + i * stride, f = factors[i];
    for (int64_t j = 0; j < n; j++) row[j] *= f;
  }
}

template <class T>
void row_dots(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t rows, int64_t n, T* dots) {
  constexpr int L = kLanes<T>;
  for (int64_t i = 0; i < rows; i++, a += a_stride, b += b_stride) {
    Vec<T> sum{};
    int64_t j = 0;
    for (; j + L <= n; j += L) sum += load(a + j) * load(b + j);
    T s = sum_of_lanes<T>(sum);
    for (; j < n; j++) s += a[j] * b[j];
    dots[i] = s;
  }
}

template <class T>
constexpr AttentionLoops<T> kKernels = {softmax<T>, scale_rows<T>, row_dots<T>, softmax_from_lse<T>,
                                        softmax_backward<T>};

}  // namespace

namespace UNDERTOW_ISA_NS {
const AttentionLoops<float>& attention_float() { return kKernels<float>; }
const AttentionLoops<double>& attention_double() { return kKernels<double>; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
