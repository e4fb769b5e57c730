// finish.cuh: the elementwise steps after a reduction, as functors of pointwise/loop.cuh, and sums of whole tensors.
#pragma once
#include "device/complex_math.cuh"
#include "pointwise/loop.cuh"
// After prelude.cuh, which defines int64_t.
#include "reduce/finish_params.h"

namespace undertow {

// One input and a number.
template <class T>
struct FinishWith {
  static constexpr int kInputs = 1;
  using In0 = T;
  using In1 = T;
  using In2 = T;
  using Out = T;
  double number;
  UT_DEVICE explicit FinishWith(const PointwiseOperands& o) : number(value_of<double>(o.numbers[0])) {}
};
template <class T>
struct DivideBy : FinishWith<T> {
  using FinishWith<T>::FinishWith;
  UT_DEVICE T operator()(T v) const {
    const auto a = static_cast<RealOf<T>>(this->number);
    if constexpr (kIsComplex<T>)
      return {v.re / a, v.im / a};
    else
      return v / a;
  }
};
template <class T>
struct SquareRoot : FinishWith<T> {
  using FinishWith<T>::FinishWith;
  UT_DEVICE T operator()(T v) const { return scalar_math::sqrt(v); }
};
template <class T>
struct ToPower : FinishWith<T> {
  using FinishWith<T>::FinishWith;
  UT_DEVICE T operator()(T v) const { return scalar_math::pow_of(v, static_cast<T>(this->number)); }
};
template <class T>
struct ZeroInfinite : FinishWith<T> {
  using FinishWith<T>::FinishWith;
  UT_DEVICE T operator()(T v) const { return scalar_math::is_inf(v) ? T(0) : v; }
};
template <class T>
struct ScaleDownTo : FinishWith<T> {
  using FinishWith<T>::FinishWith;
  UT_DEVICE T operator()(T v) const {
    return static_cast<T>(static_cast<double>(v) > this->number ? this->number / (static_cast<double>(v) + 1e-7) : 1.0);
  }
};

template <class T>
struct Magnitude {
  static constexpr int kInputs = 1;
  using In0 = T;
  using In1 = T;
  using In2 = T;
  using Out = RealOf<T>;
  UT_DEVICE explicit Magnitude(const PointwiseOperands&) {}
  UT_DEVICE RealOf<T> operator()(T v) const { return scalar_math::abs(v); }
};

// log(sum) + most.
template <class T>
struct LogPlus {
  static constexpr int kInputs = 2;
  using In0 = T;
  using In1 = RealOf<T>;
  using In2 = T;
  using Out = T;
  UT_DEVICE explicit LogPlus(const PointwiseOperands&) {}
  UT_DEVICE T operator()(T sum, RealOf<T> most) const { return scalar_math::log(sum) + T(most); }
};

// out = the sum of the terms, in order; with out itself first if `more`.
template <class T>
__global__ void add_terms(T* out, AddTerms terms, int64_t n, bool more) {
  for (int64_t i = thread_number(); i < n; i += thread_count()) {
    T sum = more ? out[i] : static_cast<const T*>(terms.from[0])[i];
    for (int k = more ? 0 : 1; k < terms.count; k++) sum += static_cast<const T*>(terms.from[k])[i];
    out[i] = sum;
  }
}

// The least index along a dimension where the element equals the output's value; NaN equals NaN. One thread, a warp or a
// block looks for each output; several parts of an output combine by atomicMin, whose result does not depend on the
// order. `at` holds p.size, or what another part has found, if there are several warps.
template <class T, int lanes>
__global__ void first_index(int64_t* at, const char* in, const T* values, FirstIndex p) {
  const int64_t output = thread_number() / lanes;
  const int lane = threadIdx.x % lanes;
  if (output >= p.outputs) return;
  const int64_t outer = output / p.inner, inner = output % p.inner;
  const char* from = in + outer * p.outer_stride + inner * p.inner_stride;
  const T value = values[output];
  const bool nan = value != value;
  const int64_t begin = blockIdx.y * p.chunk, end = begin + p.chunk < p.size ? begin + p.chunk : p.size;
  const bool shared = gridDim.y > 1 || lanes > 32;  // with other warps
  if (shared && *const_cast<volatile int64_t*>(at + output) < begin) return;
  constexpr int kAtOnce = 4;  // loads in flight
  int64_t found = p.size;
  for (int64_t i = begin + lane; i < end && found == p.size; i += kAtOnce * lanes) {
    T x[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
      x[k] = i + k * lanes < end ? *reinterpret_cast<const T*>(from + (i + k * lanes) * p.stride) : x[0];
#pragma unroll
    for (int k = kAtOnce - 1; k >= 0; k--)
      if (i + k * lanes < end && (x[k] == value || (nan && x[k] != x[k]))) found = i + k * lanes;
  }
  if constexpr (lanes > 1) {
#pragma unroll
    for (int by = 16; by > 0; by /= 2) found = least_of<int64_t>(found, __shfl_down_sync(0xffffffffu, found, by));
  }
  if (lane % 32) return;
  if (!shared)
    at[output] = found;
  else if (found < p.size)
    atomicMin(reinterpret_cast<unsigned long long*>(at) + output, static_cast<unsigned long long>(found));
}

}  // namespace undertow
