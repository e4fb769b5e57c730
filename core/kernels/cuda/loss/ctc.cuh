// ctc.cuh: connectionist temporal classification: a block per sample goes over the time steps; its threads share the
// places of the label sequence, and then the classes. See kernels/cpu/loss/ctc.cpp for the recurrences.
#pragma once
#include "device/errors.cuh"
#include "device/real_math.cuh"
#include "loss/ctc_params.h"

namespace undertow {

// log(exp(a) + exp(b) + exp(c)); minus infinity if all are.
template <class T>
UT_DEVICE T log_add(T a, T b, T c) {
  const T m = greatest_of(greatest_of(a, b), c);
  if (m == -Limits<T>::infinity()) return m;
  return m + real_log(real_exp(a - m) + real_exp(b - m) + real_exp(c - m));
}

// Sample i of a batch: the label at index s of a target with blanks before, between and after its labels.
struct CtcSample {
  const int64_t* labels;
  int64_t blank, places, steps;
  UT_DEVICE CtcSample(const CtcShape& b, int64_t i)
      : labels(b.labels + b.samples_data[i].start),
        blank(b.blank),
        places(2 * b.samples_data[i].target_length + 1),
        steps(b.samples_data[i].input_length) {}
  UT_DEVICE int64_t label(int64_t s) const { return s % 2 == 0 ? blank : labels[s / 2]; }
};

}  // namespace undertow

template <int = 0>
__global__ void ctc_check_labels(CtcShape b, DeviceErrorSlot* slot, int64_t raise) {
  const CtcSample own(b, blockIdx.x);
  for (int64_t s = 2 * threadIdx.x + 1; s < own.places; s += 2 * blockDim.x)
    if (own.label(s) < 0 || own.label(s) >= b.classes) report_error(slot, raise, own.label(s), blockIdx.x, b.classes);
}

template <class T>
__global__ void ctc_forward(T* loss, T* alpha, const T* log_probs, CtcShape b) {
  const int64_t i = blockIdx.x, width = b.width;
  const CtcSample own(b, i);
  const T none = -Limits<T>::infinity();
  T* a = alpha + i * b.steps * width;
  for (int64_t t = 0; t < own.steps; t++) {
    const T* row = log_probs + (t * b.samples + i) * b.classes;
    for (int64_t s = threadIdx.x; s < own.places; s += blockDim.x) {
      const int64_t label = own.label(s);
      T& to = a[t * width + s];
      if (t == 0) {
        if (s < 2) to = row[label];
        continue;
      }
      const T* before = a + (t - 1) * width;
      const bool skips = s > 1 && own.label(s - 2) != label;
      to = log_add(before[s], s > 0 ? before[s - 1] : none, skips ? before[s - 2] : none) + row[label];
    }
    __syncthreads();
  }
  if (threadIdx.x) return;
  T total;
  if (own.steps == 0) {
    total = own.places == 1 ? T(0) : none;
  } else {
    const T* last = a + (own.steps - 1) * width;
    total = log_add(last[own.places - 1], own.places > 1 ? last[own.places - 2] : none, none);
  }
  loss[i] = -total;
}

// beta: two rows of `width` numbers per sample.
template <class T>
__global__ void ctc_backward_steps(T* to, const T* grad, const T* log_probs, const T* loss, const T* alpha, T* beta,
                                   CtcShape b, bool zero_infinity) {
  const int64_t i = blockIdx.x, width = b.width;
  const CtcSample own(b, i);
  const T none = -Limits<T>::infinity(), nll = loss[i], g = grad[i];
  if (zero_infinity && nll == Limits<T>::infinity()) return;
  for (int64_t t = own.steps - 1; t >= 0; t--) {
    const T* row = log_probs + (t * b.samples + i) * b.classes;
    const T* a = alpha + (i * b.steps + t) * width;
    T *now = beta + (2 * i + t % 2) * width, *next = beta + (2 * i + 1 - t % 2) * width;
    for (int64_t s = threadIdx.x; s < own.places; s += blockDim.x) {
      const int64_t label = own.label(s);
      T v = none;
      if (t == own.steps - 1) {
        if (s >= own.places - 2) v = row[label];
      } else {
        const bool skips = s < own.places - 2 && own.label(s + 2) != label;
        v = log_add(next[s], s < own.places - 1 ? next[s + 1] : none, skips ? next[s + 2] : none) + row[label];
      }
      now[s] = v;
    }
    __syncthreads();
    // The sum over the places of a class, in the order of the CPU's.
    T* out = to + (t * b.samples + i) * b.classes;
    for (int64_t c = threadIdx.x; c < b.classes; c += blockDim.x) {
      T sum = none;
      for (int64_t s = own.places - 1; s >= 0; s--)
        if (own.label(s) == c) sum = log_add(sum, a[s] + now[s], none);
      out[c] = (real_exp(row[c]) - real_exp(sum + nll - row[c])) * g;
    }
    __syncthreads();
  }
}
