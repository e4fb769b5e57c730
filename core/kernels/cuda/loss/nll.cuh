// nll.cuh: negative log likelihood and its derivative. T: the scores; W: losses and weights.
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

// Also each block's sum of weights; with a single block, `total` gets it.
template <class T, class W>
__global__ void nll_values(W* each, W* total, double* parts, const T* in, const W* weight, NllItems items) {
  double weights = 0;
  for (int64_t i = thread_number(); i < items.n; i += thread_count()) {
    const int64_t c = class_of(items, i);
    W loss = 0;
    if (c >= 0) {
      const W scale = weight ? weight[c] : W(1);
      weights += static_cast<double>(scale);
      loss = -convert<W>(in[score_of(items, i, c)]) * scale;
    }
    each[i] = loss;
  }
  if (!total) return;
  weights = block_reduce(weights, 0.0, SumOf());
  if (threadIdx.x) return;
  if (gridDim.x == 1)
    *total = static_cast<W>(weights);
  else
    parts[blockIdx.x] = weights;
}

// Into zeros. The gradient of item i is grad[i], or grad[0] for all, divided by *total if that is given.
template <class T, class W>
__global__ void nll_gradients(T* out, const W* grad, const W* weight, const W* total, bool each, NllItems items) {
  for (int64_t i = thread_number(); i < items.n; i += thread_count()) {
    const int64_t c = class_of(items, i);
    if (c < 0) continue;
    const W g = each ? grad[i] : total ? grad[0] / *total : grad[0];
    out[score_of(items, i, c)] = convert<T>(-g * (weight ? weight[c] : W(1)));
  }
}
