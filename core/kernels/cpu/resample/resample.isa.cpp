// resample.isa.cpp: the loops of resample_loops.h. See Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/resample/resample_loops.h"

namespace undertow::core::cpu {
namespace {

template <class T>
void across(const T* in, const int32_t* index, const T* weight, int64_t taps, int64_t n, T* out) {
  if (taps == 2) {  // linear interpolation, in one pass
    const int32_t* second = index + n;
    const T* other = weight + n;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) out[j] = weight[j] * in[index[j]] + other[j] * in[second[j]];
    return;
  }
  for (int64_t j = 0; j < n; j++) out[j] = 0;
  for (int64_t k = 0; k < taps; k++, index += n, weight += n) {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) out[j] += weight[j] * in[index[j]];
  }
}

template <class T>
void down(const T* in, const int32_t* index, const T* weight, int64_t step, int64_t taps, int64_t length, T* out) {
  if (taps == 2) {
    const T *a = in + index[0] * length, *b = in + index[step] * length;
    const T u = weight[0], v = weight[step];
#pragma GCC ivdep
    for (int64_t i = 0; i < length; i++) out[i] = u * a[i] + v * b[i];
    return;
  }
  for (int64_t i = 0; i < length; i++) out[i] = 0;
  for (int64_t k = 0; k < taps; k++) {
    const T* a = in + index[k * step] * length;
    const T u = weight[k * step];
#pragma GCC ivdep
    for (int64_t i = 0; i < length; i++) out[i] += u * a[i];
  }
}

template <class T>
void spread(const T* in, const int32_t* index, const T* weight, int64_t step, int64_t taps, int64_t length, T* out) {
  for (int64_t k = 0; k < taps; k++) {
    T* a = out + index[k * step] * length;
    const T u = weight[k * step];
#pragma GCC ivdep
    for (int64_t i = 0; i < length; i++) a[i] += u * in[i];
  }
}

}  // namespace

namespace UNDERTOW_ISA_NS {
const ResampleLoops<float>& resample_float() {
  static constexpr ResampleLoops<float> kernels{across<float>, down<float>, spread<float>};
  return kernels;
}
const ResampleLoops<double>& resample_double() {
  static constexpr ResampleLoops<double> kernels{across<double>, down<double>, spread<double>};
  return kernels;
}
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
