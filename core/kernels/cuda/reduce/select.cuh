// select.cuh: picks one element of each sorted line, and its index: median, kthvalue, mode.
#pragma once
#include "device/prelude.cuh"
// After prelude.cuh, which defines int64_t.
#include "reduce/select_params.h"

namespace undertow {

template <class T>
UT_DEVICE bool is_not_number(T x) {
  if constexpr (kIsIntegral<T>)
    return false;
  else
    return static_cast<OpMath<T>>(x) != static_cast<OpMath<T>>(x);
}

// A sorted line, NaN last.
template <class T>
struct SortedLine {
  const T* values;
  int64_t n, stride;
  UT_DEVICE T operator[](int64_t i) const { return values[i * stride]; }
  // How many elements are numbers.
  UT_DEVICE int64_t numbers() const {
    int64_t low = 0, high = n;
    while (low < high) {
      int64_t middle = (low + high) / 2;
      if (is_not_number((*this)[middle]))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
  // The lower median; NaN if there is one, unless ignored.
  UT_DEVICE int64_t median(bool ignore_nan) const {
    const int64_t count = numbers();
    return count < n && (!ignore_nan || count == 0) ? count : (count - 1) / 2;
  }
  // The end of the first of the longest runs of equal elements; NaN equals nothing.
  UT_DEVICE int64_t mode() const {
    int64_t best = 0, run = 0, found = 0;
    for (int64_t i = 0; i < n; i++) {
      run++;
      if (i + 1 < n && static_cast<OpMath<T>>((*this)[i]) == static_cast<OpMath<T>>((*this)[i + 1])) continue;
      if (run > best) {
        best = run;
        found = i;
      }
      run = 0;
    }
    return found;
  }
};

// One thread per line.
template <class T>
__global__ void select_sorted(T* values, int64_t* indices, const T* sorted, const int64_t* order, SelectShape s) {
  const int64_t line = thread_number();
  if (line >= s.outer * s.inner) return;
  const int64_t outer = line / s.inner, first = outer * s.n * s.inner + (line - outer * s.inner);
  SortedLine<T> x{sorted + first, s.n, s.inner};
  const int64_t i = s.what == kSelectMedian || s.what == kSelectNanMedian ? x.median(s.what == kSelectNanMedian)
                    : s.what == kSelectMode                               ? x.mode()
                                                                          : s.k - 1;
  values[line] = x[i];
  indices[line] = order[first + i * s.inner];
}

}  // namespace undertow
