// distance.isa.cpp: see distance_kernels.h and Note [One Namespace Per Instruction Set] in simd.h.
#include "core/kernels/cpu/distance/distance_kernels.h"

#include "core/kernels/cpu/simd.h"

namespace undertow::core::cpu {
namespace {

inline float root(float x) { return __builtin_sqrtf(x); }
inline double root(double x) { return __builtin_sqrt(x); }

// The sum over i < n of the vectors (or, at the end, the scalars) returned by take(i).
template <class T, class V, class S>
inline T sum_over(int64_t n, V&& vectors, S&& numbers) {
  constexpr int64_t kL = kLanes<T>;
  Vec<T> a{}, b{};
  int64_t i = 0;
  for (; i + 2 * kL <= n; i += 2 * kL) {
    a += vectors(i);
    b += vectors(i + kL);
  }
  T sum = sum_of_lanes<T>(a + b);
  for (; i < n; i++) sum += numbers(i);
  return sum;
}

template <class T>
T square(const T* x, int64_t n) {
  return sum_over<T>(n, [x](int64_t i) { return load(x + i) * load(x + i); }, [x](int64_t i) { return x[i] * x[i]; });
}

template <class T>
T direct(const T* x, const T* y, int64_t n) {
  return root(sum_over<T>(
      n,
      [x, y](int64_t i) {
        Vec<T> d = load(x + i) - load(y + i);
        return d * d;
      },
      [x, y](int64_t i) { return (x[i] - y[i]) * (x[i] - y[i]); }));
}

template <class T>
bool finish(T* to, T own, const T* others, int64_t n) {
  const T least = T(1) / 32, most = sizeof(T) == 4 ? T(__FLT_MAX__) : T(__DBL_MAX__);
  int64_t lost = 0;
#pragma GCC ivdep
  for (int64_t j = 0; j < n; j++) {
    T both = own + others[j], left = to[j] + both;
    bool keeps = (left >= least * both) & (left <= most);
    to[j] = keeps ? root(keeps ? left : T(0)) : T(-1);
    lost += !keeps;
  }
  return lost == 0;
}

template <class T>
constexpr DistanceLoops<T> kKernels = {square<T>, finish<T>, direct<T>};

}  // namespace

namespace UNDERTOW_ISA_NS {
const DistanceLoops<float>& distance_float() { return kKernels<float>; }
const DistanceLoops<double>& distance_double() { return kKernels<double>; }
}  // namespace UNDERTOW_ISA_NS

}  // namespace undertow::core::cpu
