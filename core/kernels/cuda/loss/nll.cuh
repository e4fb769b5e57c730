// nll.cuh: negative log likelihood and its derivative. T: the scores; W: losses and weights; G: gradients.
#pragma once
#include "device/block_reduce.cuh"
#include "device/convert.cuh"
#include "device/errors.cuh"
#include "loss/nll_params.h"

namespace undertow {

// The class of item i, or -1 for one to skip; a target that is not a class is reported and skipped.
UT_DEVICE int64_t class_of(const NllItems& items, int64_t i) {
  const int64_t c = items.target[i];
  if (c == items.ignore) return -1;
  if (c >= 0 && c < items.classes) return c;
  report_error(items.slot, items.raise, c, items.classes, 0);
  return -1;
}
UT_DEVICE int64_t score_of(const NllItems& items, int64_t i, int64_t c) {
  if (items.space == 1) return i * items.classes + c;
  return (i / items.space * items.classes + c) * items.space + i % items.space;
}

}  // namespace undertow

template <class T, class W>
__global__ void nll_values(W* each, const T* in, const W* weight, NllItems items) {
  for (int64_t i = thread_number(); i < items.n; i += thread_count()) {
    const int64_t c = class_of(items, i);
    each[i] = c < 0 ? W(0) : -convert<W>(in[score_of(items, i, c)]) * (weight ? weight[c] : W(1));
  }
}

namespace undertow {

// a: sum of the losses, b: of the weights.
template <class T>
UT_DEVICE void write_total(T* out, T* total, Two<double> sums, bool mean) {
  if (threadIdx.x) return;
  *out = convert<T>(mean ? sums.a / sums.b : sums.a);
  *total = convert<T>(sums.b);
}

}  // namespace undertow

// The sum or mean of the losses, and the sum of the weights; of each block if there are several.
template <class T, class W>
__global__ void __launch_bounds__(1024)
    nll_sums(T* out, T* total, double* parts, const T* in, const W* weight, NllItems items, bool mean) {
  constexpr int at_once = 4;  // items whose scores are on their way
  Two<double> sums = {0, 0};
  for (int64_t first = thread_number(); first < items.n; first += at_once * thread_count()) {
    int64_t c[at_once];
    T score[at_once];
#pragma unroll
    for (int k = 0; k < at_once; k++) {
      const int64_t i = first + k * thread_count();
      c[k] = i < items.n ? items.target[i] : items.ignore;
    }
#pragma unroll
    for (int k = 0; k < at_once; k++)
      if (c[k] >= 0 && c[k] < items.classes && c[k] != items.ignore)
        score[k] = in[score_of(items, first + k * thread_count(), c[k])];
#pragma unroll
    for (int k = 0; k < at_once; k++) {
      if (c[k] == items.ignore) continue;
      if (c[k] < 0 || c[k] >= items.classes) {
        report_error(items.slot, items.raise, c[k], items.classes, 0);
        continue;
      }
      const W scale = weight ? weight[c[k]] : W(1);
      sums.a -= static_cast<double>(convert<W>(score[k]) * scale);
      sums.b += static_cast<double>(scale);
    }
  }
  sums = block_reduce(sums, Two<double>{0, 0}, SumOf());
  if (gridDim.x == 1) return write_total(out, total, sums, mean);
  if (threadIdx.x) return;
  parts[2 * blockIdx.x] = sums.a;
  parts[2 * blockIdx.x + 1] = sums.b;
}

// Adds up the blocks of nll_sums.
template <class T>
__global__ void __launch_bounds__(1024) nll_finish(T* out, T* total, const double* parts, int64_t blocks, bool mean) {
  Two<double> sums = {0, 0};
  for (int64_t i = threadIdx.x; i < blocks; i += blockDim.x) {
    sums.a += parts[2 * i];
    sums.b += parts[2 * i + 1];
  }
  write_total(out, total, block_reduce(sums, Two<double>{0, 0}, SumOf()), mean);
}

// Into zeros. The gradient of item i is grad[i], or grad[0] for all, divided by *total if that is given.
template <class T, class W, class G>
__global__ void nll_gradients(T* out, const G* grad, const W* weight, const G* total, bool each, NllItems items) {
  for (int64_t i = thread_number(); i < items.n; i += thread_count()) {
    const int64_t c = class_of(items, i);
    if (c < 0) continue;
    const W own = convert<W>(grad[each ? i : 0]), g = total ? own / convert<W>(*total) : own;
    out[score_of(items, i, c)] = convert<T>(-g * (weight ? weight[c] : W(1)));
  }
}
